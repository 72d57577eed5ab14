// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.util.List;
import org.jline.reader.CompletingParsedLine;
import org.jline.reader.ParsedLine;
import org.jline.reader.Parser;

/**
 * A parser for Tab whose lines can hold words and candidates with spaces and quotes, as Gogo's
 * cannot. Stateless.
 */
record Completion(Parser parser) implements Parser {
  @Override
  public ParsedLine parse(String line, int cursor, ParseContext context) {
    ParsedLine parsed = parser.parse(line, cursor, context);
    if (context != ParseContext.COMPLETE || !(parsed instanceof CompletingParsedLine completing)) {
      return parsed;
    }
    // Gogo counts quotes and backslashes in front of the cursor, although they are not in the word.
    String before = parser.parse(line.substring(0, cursor), cursor, context).word();
    return new Line(completing, Math.min(before.length(), parsed.word().length()));
  }

  /** A line whose quoting reads each character of the candidate once. */
  record Line(CompletingParsedLine parsed, int wordCursor) implements CompletingParsedLine {
    /** The characters to which Gogo gives a meaning where no quote stands. */
    private static final String SPECIAL = " \t\"'\\$(){}[]<>|;&*?#=";

    @Override
    public CharSequence escape(CharSequence candidate, boolean complete) {
      // Gogo's own quoting of the empty word tells the quote that the raw word begins with.
      String empty = parsed.escape("", false).toString();
      StringBuilder text = new StringBuilder(empty);
      for (char c : candidate.toString().toCharArray()) {
        if (empty.isEmpty() ? SPECIAL.indexOf(c) >= 0 : c == empty.charAt(0)) {
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
