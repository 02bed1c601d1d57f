//! Models, providers and logins against recorded exchanges, served on the loopback address.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod server; // recorded exchanges, served
mod asking; // one question, and settings without surprises
mod openai;
mod misbehaviour; // what servers do wrong
mod azure;
mod anthropic;
mod copilot;
mod fallback; // another model answers
mod servers_here; // Ollama, LM Studio, llama.cpp, the local model
mod choosing; // who is asked, what is listed, what is kept
mod login;
