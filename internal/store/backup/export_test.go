package backup

// Seeded are the tables in which migrations write rows.
var Seeded = seeded
