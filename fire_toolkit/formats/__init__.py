"""One file per outside format: text or arrays to tables and back; errors carry path and place."""
