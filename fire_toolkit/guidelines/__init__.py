"""What annotators are asked: guidelines, their labels and grades, and the labeling page."""
