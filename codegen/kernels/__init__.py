"""Hand schedules: the texts that `kernel.call` names, a module per schedule and target, with a hole for the
epilogue."""
