package backup

// Seeded are the tables to which migrations add rows.
var Seeded = seeded
