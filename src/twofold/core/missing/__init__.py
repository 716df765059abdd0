"""Missing entries: their completion before a fit, and their step within one."""
