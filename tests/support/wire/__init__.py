"""The wire as a test speaks it: raw messages, sessions without a server behind them."""
