// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.util.List;
import org.jline.reader.CompletingParsedLine;
import org.jline.reader.ParsedLine;
import org.jline.reader.Parser;

/** A parser for Tab whose lines can hold candidates with spaces, as Gogo's cannot. Stateless. */
record Completion(Parser parser) implements Parser {
  @Override
  public ParsedLine parse(String line, int cursor, ParseContext context) {
    ParsedLine parsed = parser.parse(line, cursor, context);
    return context == ParseContext.COMPLETE && parsed instanceof CompletingParsedLine completing
        ? new Line(completing)
        : parsed;
  }

  /** A line whose quoting reads each character of the candidate once. */
  record Line(CompletingParsedLine parsed) implements CompletingParsedLine {
    @Override
    public CharSequence escape(CharSequence candidate, boolean complete) {
      // Gogo's own quoting of the empty word tells the quote that the raw word begins with.
      String empty = parsed.escape("", false).toString();
      StringBuilder text = new StringBuilder(empty);
      for (char c : candidate.toString().toCharArray()) {
        if (empty.isEmpty() ? c == ' ' || c == '\t' : c == empty.charAt(0)) {
          text.append('\\');
        }
        text.append(c);
      }
      return complete ? text.append(empty) : text;
    }

    @Override
    public int rawWordCursor() {
      return parsed.rawWordCursor();
    }

    @Override
    public int rawWordLength() {
      return parsed.rawWordLength();
    }

    @Override
    public String word() {
      return parsed.word();
    }

    @Override
    public int wordCursor() {
      return parsed.wordCursor();
    }

    @Override
    public int wordIndex() {
      return parsed.wordIndex();
    }

    @Override
    public List<String> words() {
      return parsed.words();
    }

    @Override
    public String line() {
      return parsed.line();
    }

    @Override
    public int cursor() {
      return parsed.cursor();
    }
  }
}
