"""The model runtime that legal, jury and Agora games share: one port for model servers and scripted models."""
