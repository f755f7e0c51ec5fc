"""What public functions are given is checked by name; what they return says what it rests on."""
