//! The harness of the stories in `it/`: a home folder, the real `roost` program, a running host and a client for it.
//!
//! Everything lives in temporary folders and on free ports. Only processes that were started here are ended here.

mod program; // the binary, its environment and what it printed
mod turns; // who runs beside whom
mod home; // a temporary home folder
mod host; // `roost up` in the background
mod http; // one request, one answer
mod following; // a command that goes on printing
mod waiting; // until something holds, or a deadline passes
mod engines; // Python, Node and Deno
mod users; // root and others
mod shell; // lines that were printed to be pasted
mod model_server; // a model that does what its user says
mod git_hub; // where people sign in
mod keep_alive; // many requests on one connection
mod web_server; // what agents may or may not reach
mod store_server; // where apps are published
mod shared_memory; // what they may not attach
mod processes; // who is alive
mod postgres; // databases that go with the test
mod both_engines; // the same on SQLite and PostgreSQL
mod tables; // everything that a database holds
mod written; // what a program that is killed has written
mod sources; // agent files to write
mod generated; // many agent files of every shape

pub use self::{
    both_engines::{ENGINES, TestDatabase, file_path, home_on, owner, removal, text},
    engines::Engine,
    following::Following,
    generated::{Expected, GeneratedAgent, generated_agents},
    git_hub::GitHub,
    home::TestHome,
    host::RunningHost,
    http::{Answer, Client, FORM_TYPE, Part, form_of},
    keep_alive::KeepAlive,
    model_server::ModelServer,
    postgres::{Cluster, Postgres},
    processes::{descendants, holders, is_alive, status_kb},
    program::{Ran, find_on_path, repository_root},
    shared_memory::SharedMemory,
    shell::in_shell,
    sources::{python_agent, python_file, typescript_agent},
    store_server::StoreServer,
    tables::{Sql, dump, tables},
    users::User,
    waiting::{PATIENCE, until, until_some},
    web_server::{Asked, WebServer},
    written::{WRITER_FILES_EACH, WRITER_TASKS, written_content},
};
