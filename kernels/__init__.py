"""What hand schedules there are: what they take, how they tile, how many grid items they have. Their texts are in
codegen.
"""
