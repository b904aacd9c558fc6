//! Tables: aligned text for a terminal, rows for a page.

/// A table of text, numbers to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub title: String,
    /// Numbers are set to the right, words to the left.
    pub numbers: bool,
}

/// A table on its way: a row for each of some items, column by column.
#[derive(Debug)]
pub struct Columns<'a, T> {
    items: &'a [T],
    table: Table,
}

impl<T> Columns<'_, T> {
    /// Adds a column: its title, and what it shows of an item.
    #[must_use]
    pub fn column(self, title: &str, cell: impl Fn(&T) -> String) -> Self {
        self.columns(true, [title], |item| [cell(item)])
    }

    /// Adds some columns, if they are wanted.
    #[must_use]
    pub fn columns<const N: usize>(
        mut self,
        wanted: bool,
        titles: [&str; N],
        cells: impl Fn(&T) -> [String; N],
    ) -> Self {
        if wanted {
            self.table.columns.extend(titles.map(Column::new));
            for (item, row) in self.items.iter().zip(&mut self.table.rows) {
                row.extend(cells(item));
            }
        }
        self
    }

    /// The table.
    pub fn table(self) -> Table {
        self.table
    }
}

impl Column {
    fn new(title: &str) -> Self {
        Self {
            title: title.trim_start_matches('#').to_owned(),
            numbers: title.starts_with('#'),
        }
    }
}

impl Table {
    /// A table with a row for each of some items; a title that begins with `#` is a column of numbers.
    pub fn of<T>(items: &[T]) -> Columns<'_, T> {
        let table = Self {
            columns: Vec::new(),
            rows: vec![Vec::new(); items.len()],
        };
        Columns { items, table }
    }

    /// A table with these columns; a title that begins with `#` is a column of numbers.
    pub fn new(titles: &[&str]) -> Self {
        Self {
            columns: titles.iter().map(|title| Column::new(title)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, one cell a column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(cells);
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The table as aligned lines.
    pub fn text(&self) -> String {
        let width = |index: usize| {
            let cells = self.rows.iter().map(|row| row[index].chars().count());
            cells
                .chain([self.columns[index].title.chars().count()])
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for (index, cell) in cells.enumerate() {
                let padding = " ".repeat(widths[index] - cell.chars().count());
                let gap = if index == 0 { "" } else { "  " };
                let (before, after) = if self.columns[index].numbers {
                    (padding.as_str(), "")
                } else {
                    ("", padding.as_str())
                };
                line.push_str(&format!("{gap}{before}{cell}{after}"));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        };
        line(&mut self.columns.iter().map(|column| column.title.as_str()));
        for row in &self.rows {
            line(&mut row.iter().map(String::as_str));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_to_the_left_numbers_to_the_right() {
        let mut table = Table::new(&["policy", "#downloads"]);
        table.row(["rankmass".to_owned(), "12".to_owned()]);
        table.row(["é".to_owned(), "1,234".to_owned()]);
        expect_test::expect![[r"
            policy    downloads
            rankmass         12
            é             1,234
        "]]
        .assert_eq(&table.text());
    }
}
