module github.com/temporalio/cli/cliext

go 1.26.0
