// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.read;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.json.form.ElementText;
import io.thalamus.json.form.Form;
import io.thalamus.model.reader.ModelFormatException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Walks through the text value by value, and says in which line something unexpected stands. Not
 * thread-safe. Each method that reads a value expects the cursor on its first token, and leaves it
 * on its last.
 */
final class Cursor implements AutoCloseable {
  private final JsonParser parser;

  Cursor(byte[] text) throws IOException {
    parser = Form.factory().createParser(text);
  }

  /** Some step of the parser. */
  private interface Step<T> {
    T run() throws IOException;
  }

  private <T> T parsed(Step<T> step) throws ModelFormatException {
    try {
      return step.run();
    } catch (JsonProcessingException e) {
      // Jackson says where a thing began by a place in a source, whose name says nothing.
      String message = e.getOriginalMessage().replaceAll("\\[Source: [^;\\]]*; ([^\\]]*)\\]", "$1");
      throw error(message, e);
    } catch (IOException e) {
      throw error(e.getMessage(), e);
    }
  }

  private JsonToken next() throws ModelFormatException {
    return parsed(parser::nextToken);
  }

  /** A reader of the value of one name. */
  @FunctionalInterface
  interface Fields {
    /** Reads the value, on whose first token the cursor stands. */
    void read(String name) throws ModelFormatException;
  }

  /** A reader of one element. */
  @FunctionalInterface
  interface Entries {
    /** Reads the element, on whose first token the cursor stands. */
    void read() throws ModelFormatException;
  }

  /** Reads the text, which is one object. */
  void document(Fields fields) throws ModelFormatException {
    next();
    object(fields);
    if (next() != null) {
      throw wrong("the end");
    }
  }

  /** Reads an object name by name. */
  void object(Fields fields) throws ModelFormatException {
    expect(JsonToken.START_OBJECT, "an object");
    while (next() != JsonToken.END_OBJECT) {
      String name = parsed(parser::currentName);
      next();
      fields.read(name);
    }
  }

  /** Reads an array element by element. */
  void array(Entries entries) throws ModelFormatException {
    expect(JsonToken.START_ARRAY, "an array");
    while (next() != JsonToken.END_ARRAY) {
      if (parser.currentToken() == null) {
        throw wrong("an element");
      }
      entries.read();
    }
  }

  boolean isObject() {
    return parser.currentToken() == JsonToken.START_OBJECT;
  }

  private void expect(JsonToken wanted, String what) throws ModelFormatException {
    if (parser.currentToken() != wanted) {
      throw wrong(what);
    }
  }

  String text() throws ModelFormatException {
    expect(JsonToken.VALUE_STRING, "a text");
    return parsed(parser::getText);
  }

  boolean truth() throws ModelFormatException {
    if (parser.currentToken() != JsonToken.VALUE_FALSE) {
      expect(JsonToken.VALUE_TRUE, "true or false");
    }
    return parser.currentToken() == JsonToken.VALUE_TRUE;
  }

  int integer() throws ModelFormatException {
    expect(JsonToken.VALUE_NUMBER_INT, "a whole number");
    return parsed(parser::getIntValue);
  }

  long longInteger() throws ModelFormatException {
    expect(JsonToken.VALUE_NUMBER_INT, "a whole number");
    return parsed(parser::getLongValue);
  }

  /** A whole number that is not negative. */
  int natural() throws ModelFormatException {
    int value = integer();
    if (value < 0) {
      throw error("the number " + value + " is negative");
    }
    return value;
  }

  float real() throws ModelFormatException {
    try {
      return ElementText.real(number());
    } catch (NumberFormatException e) {
      throw error(e.getMessage() + " is no number of float32", e);
    }
  }

  /** A number as it is written; NaN and infinite ones are texts. */
  String number() throws ModelFormatException {
    JsonToken token = parser.currentToken();
    boolean isNumber =
        token == JsonToken.VALUE_NUMBER_INT
            || token == JsonToken.VALUE_NUMBER_FLOAT
            || token == JsonToken.VALUE_STRING;
    if (!isNumber) {
      throw wrong("a number");
    }
    return parsed(parser::getText);
  }

  /** Natural numbers. */
  int[] naturals() throws ModelFormatException {
    List<Integer> list = new ArrayList<>();
    array(() -> list.add(natural()));
    return list.stream().mapToInt(Integer::intValue).toArray();
  }

  /** The error that something else stands here. */
  ModelFormatException wrong(String expected) {
    String found =
        switch (parser.currentToken()) {
          case null -> "the end";
          case START_OBJECT -> "an object";
          case END_OBJECT -> "the end of an object";
          case START_ARRAY -> "an array";
          case END_ARRAY -> "the end of an array";
          case FIELD_NAME -> "a name";
          case VALUE_STRING -> "a text";
          case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
          case VALUE_TRUE, VALUE_FALSE -> "a truth value";
          case VALUE_NULL -> "null";
          default -> "something else";
        };
    return error("expected " + expected + ", found " + found);
  }

  ModelFormatException unknown(String name, String where) {
    return error("unknown name '" + name + "' in " + where);
  }

  ModelFormatException error(String what) {
    return error(what, null);
  }

  ModelFormatException error(String what, Exception cause) {
    int line = parser.currentTokenLocation().getLineNr();
    return new ModelFormatException("line " + line + ": " + what, cause);
  }

  @Override
  public void close() throws IOException {
    parser.close();
  }
}
