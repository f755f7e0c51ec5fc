"""Label Studio: labeling pages, tasks and answers as JSON (pure), and the server behind them."""
