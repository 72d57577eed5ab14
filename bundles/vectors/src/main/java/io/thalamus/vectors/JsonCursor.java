// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Walks through JSON text token by token and says where something unexpected stands. Not
 * thread-safe. Every method that reads a value expects the cursor on it, and leaves it on its last
 * token.
 */
final class JsonCursor implements AutoCloseable {
  private final JsonParser parser;

  JsonCursor(byte[] text) throws IOException {
    // The default pool of buffers keeps them in ThreadLocals, also of threads that are not ours.
    JsonFactory factory =
        JsonFactory.builder()
            .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
            .recyclerPool(JsonRecyclerPools.nonRecyclingPool())
            .build();
    parser = factory.createParser(text);
  }

  /** Returns what is wrong with a text, in words. */
  static String problem(JsonProcessingException e) {
    // Jackson says where a thing began by a place in a source, whose name says nothing.
    return e.getOriginalMessage().replaceAll("\\[Source: [^;\\]]*; ([^\\]]*)\\]", "$1");
  }

  /** Moves to the next token. */
  JsonToken next() throws IOException {
    return parser.nextToken();
  }

  JsonToken token() {
    return parser.currentToken();
  }

  /** The next key of the object whose start or last value this stands on; null at its end. */
  String nextKey() throws IOException, VectorFormatException {
    JsonToken token = parser.nextToken();
    if (token == JsonToken.END_OBJECT) {
      return null;
    }
    if (token != JsonToken.FIELD_NAME) {
      throw wrong("a key");
    }
    String key = parser.currentName();
    parser.nextToken();
    return key;
  }

  void skip() throws IOException {
    parser.skipChildren();
  }

  void expect(JsonToken wanted, String what) throws VectorFormatException {
    if (parser.currentToken() != wanted) {
      throw wrong(what);
    }
  }

  String text() throws IOException, VectorFormatException {
    expect(JsonToken.VALUE_STRING, "a string");
    return parser.getText();
  }

  Optional<String> textOrNull() throws IOException, VectorFormatException {
    return token() == JsonToken.VALUE_NULL ? Optional.empty() : Optional.of(text());
  }

  /** A name, or a number in its place, as text. */
  String word() throws IOException, VectorFormatException {
    if (token() == JsonToken.VALUE_NUMBER_INT) {
      return parser.getText();
    }
    expect(JsonToken.VALUE_STRING, "a name or a whole number");
    return parser.getText();
  }

  boolean bool() throws VectorFormatException {
    if (token() == JsonToken.VALUE_TRUE) {
      return true;
    }
    expect(JsonToken.VALUE_FALSE, "true or false");
    return false;
  }

  int integer() throws IOException, VectorFormatException {
    expect(JsonToken.VALUE_NUMBER_INT, "a whole number");
    return parser.getIntValue();
  }

  /** A number; the strings NaN, Infinity and -Infinity too. */
  double number() throws IOException, VectorFormatException {
    return switch (token()) {
      case VALUE_NUMBER_INT -> parser.getLongValue();
      case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
      case VALUE_STRING ->
          switch (parser.getText()) {
            case "NaN" -> Double.NaN;
            case "Infinity" -> Double.POSITIVE_INFINITY;
            case "-Infinity" -> Double.NEGATIVE_INFINITY;
            default -> throw wrong("a number");
          };
      case null, default -> throw wrong("a number");
    };
  }

  List<String> texts() throws IOException, VectorFormatException {
    expect(JsonToken.START_ARRAY, "an array of strings");
    List<String> list = new ArrayList<>();
    while (next() != JsonToken.END_ARRAY) {
      list.add(text());
    }
    return list;
  }

  List<Integer> integers() throws IOException, VectorFormatException {
    expect(JsonToken.START_ARRAY, "an array of whole numbers");
    List<Integer> list = new ArrayList<>();
    while (next() != JsonToken.END_ARRAY) {
      list.add(integer());
    }
    return list;
  }

  /** The error that something else stands here. */
  VectorFormatException wrong(String expected) {
    String found =
        switch (token()) {
          case null -> "the end";
          case START_OBJECT -> "an object";
          case END_OBJECT -> "the end of an object";
          case START_ARRAY -> "an array";
          case END_ARRAY -> "the end of an array";
          case FIELD_NAME -> "a key";
          case VALUE_STRING -> "a string";
          case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
          case VALUE_TRUE, VALUE_FALSE -> "a truth value";
          case VALUE_NULL -> "null";
          default -> "something else";
        };
    return error("expected " + expected + ", found " + found);
  }

  VectorFormatException unknownKey(String key, String where) {
    return error("unknown key '" + key + "' in " + where);
  }

  VectorFormatException missing(String key, String where) {
    return error(where + " has no '" + key + "'");
  }

  VectorFormatException error(String what) {
    return new VectorFormatException(what + " (line " + parser.currentLocation().getLineNr() + ")");
  }

  @Override
  public void close() throws IOException {
    parser.close();
  }
}
