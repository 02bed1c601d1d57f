//! Reading catalogs.
