"""kvedit inside other programs. Each module imports the program it is for, and nothing else does."""
