"""What every layer may use: knobs, errors, stage timing and dumps. Imports nothing but the standard library."""
