//! One database behind one interface: how tables come to be, who sees which rows, several nodes, and what a broken disk
//! does.

mod migrations; // how tables come to be
mod isolation; // who sees which rows
mod nodes; // several nodes on one server
mod damage; // what a broken disk does
