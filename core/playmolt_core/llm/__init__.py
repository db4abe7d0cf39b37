"""The model runtime that legal, jury and Agora games share: one port, servers and scripted models behind it."""
