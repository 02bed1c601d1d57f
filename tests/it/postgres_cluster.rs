//! The databases that other stories rely on: each is apart from the others, and gone when its story ends.

use roost_tests::{Cluster, Postgres};

#[test]
fn two_databases_are_apart() {
    let (one, other) = (Postgres::database(), Postgres::database());
    one.sql("CREATE TABLE notes (text text); INSERT INTO notes VALUES ('a note')");
    assert_eq!(one.sql("SELECT text FROM notes"), "a note");
    let refusal = other.sql_fails("SELECT text FROM notes");
    assert!(refusal.contains("relation \"notes\" does not exist"), "{refusal}");
}

#[test]
fn a_dropped_database_is_gone() {
    let (one, other) = (Postgres::database(), Postgres::database());
    let count = format!("SELECT count(*) FROM pg_database WHERE datname = '{}'", one.name());
    assert_eq!(other.sql(&count), "1");
    drop(one);
    assert_eq!(other.sql(&count), "0");
}

#[test]
fn an_own_cluster_keeps_what_was_committed_when_its_server_is_cut_off() {
    let cluster = Cluster::own();
    cluster.sql("CREATE TABLE notes (text text); INSERT INTO notes VALUES ('a note')");
    cluster.stop_immediately();
    let refusal = cluster.sql_fails("SELECT text FROM notes");
    assert!(refusal.contains("connection to server"), "{refusal}");
    cluster.start();
    assert_eq!(cluster.sql("SELECT text FROM notes"), "a note");
}
