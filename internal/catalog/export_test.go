package catalog

// Settle waits for the end of work in the background.
func (c *Catalog) Settle() { c.work.Wait() }
