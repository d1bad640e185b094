// Asks ClickHouse over HTTP by clickhouse-go, as Grafana's data source does.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ClickHouse/clickhouse-go/v2"
)

type question struct {
	Sql        string
	Parameters map[string]string
}

type task struct {
	Host, User, Password, Database string
	Port                           int
	Questions                      []question
}

var compressions = map[string]*clickhouse.Compression{
	"default": nil,
	"lz4":     {Method: clickhouse.CompressionLZ4},
	"zstd":    {Method: clickhouse.CompressionZSTD, Level: 3},
	"gzip":    {Method: clickhouse.CompressionGZIP, Level: 1},
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var given task
	check(json.NewDecoder(os.Stdin).Decode(&given))
	db := clickhouse.OpenDB(&clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{fmt.Sprintf("%s:%d", given.Host, given.Port)},
		Auth:        clickhouse.Auth{Database: given.Database, Username: given.User, Password: given.Password},
		Compression: compressions[os.Args[1]],
		Settings:    clickhouse.Settings{"max_execution_time": 30},
	})
	answers := make([][]string, 0)
	for _, asked := range given.Questions {
		answers = append(answers, first(db, asked))
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}

// first returns the first column of an answer as texts.
func first(db *sql.DB, asked question) []string {
	parameters := clickhouse.Parameters(asked.Parameters)
	rows, err := db.QueryContext(clickhouse.Context(context.Background(), clickhouse.WithParameters(parameters)), asked.Sql)
	check(err)
	defer rows.Close()
	columns, err := rows.Columns()
	check(err)
	found := make([]string, 0)
	for rows.Next() {
		values := make([]any, len(columns))
		for number := range values {
			values[number] = new(any)
		}
		check(rows.Scan(values...))
		found = append(found, fmt.Sprint(*values[0].(*any)))
	}
	check(rows.Err())
	return found
}
