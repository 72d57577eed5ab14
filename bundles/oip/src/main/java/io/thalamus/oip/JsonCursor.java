// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.thalamus.model.reader.SegmentInputStream;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Walks through the JSON of a request and says where something unexpected stands. Not thread-safe.
 * Every method that reads a value expects the cursor on it, and leaves it on its last token. The
 * argument {@code what} begins a message: the field, and what it belongs to.
 */
final class JsonCursor implements AutoCloseable {
  /** Arrays and objects within each other: more than any tensor has dimensions. */
  static final int DEEPEST = 64;

  /** The keys of a request: each costs far more memory than the bytes that it came in. */
  private static final int MOST_KEYS = 100_000;

  /** A smaller text is read at once. */
  private static final int SMALL = 64 * 1024;

  /**
   * Reads and writes. As Triton's, it takes and gives NaN, Infinity and -Infinity, which floats
   * have and JSON has not.
   */
  static final JsonFactory FACTORY =
      JsonFactory.builder()
          .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
          .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
          .disable(JsonWriteFeature.WRITE_NAN_AS_STRINGS)
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(DEEPEST)
                  .maxStringLength(Integer.MAX_VALUE)
                  .build())
          // The default pool keeps buffers in each thread, and each request has its own.
          .recyclerPool(JsonRecyclerPools.newBoundedPool(16))
          .build();

  private final MemorySegment text;
  private final JsonParser parser;
  private int keys;

  /** Reads a field of an object. */
  @FunctionalInterface
  interface FieldReader {
    /** Reads the value that the cursor stands on, or leaves it. */
    void read(JsonCursor json, String key) throws IOException, ServingException;
  }

  /** A cursor before the text. */
  JsonCursor(MemorySegment text) throws IOException {
    this.text = text;
    parser =
        text.byteSize() <= SMALL
            ? FACTORY.createParser(text.toArray(ValueLayout.JAVA_BYTE))
            : FACTORY.createParser(new SegmentInputStream(text));
  }

  /** Something that reads JSON. */
  @FunctionalInterface
  interface Reader {
    /** Reads with a cursor before the text. */
    void read(JsonCursor json) throws IOException, ServingException;
  }

  /**
   * Has a text read.
   *
   * @throws ServingException of the reader, or with INVALID_ARGUMENT if it is not JSON
   */
  static void read(MemorySegment text, Reader reader) throws ServingException {
    if (!isUtf8(text)) {
      throw ServingException.invalid("the JSON of the request is not UTF-8: expected that alone");
    }
    try (JsonCursor json = new JsonCursor(text)) {
      reader.read(json);
    } catch (JsonProcessingException e) {
      throw Failures.notJson(e);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be read", e);
    }
  }

  /** Returns false for what begins as UTF-16 or UTF-32 do, which the parser would read too. */
  private static boolean isUtf8(MemorySegment text) {
    for (long i = 0; i < Math.min(2, text.byteSize()); i++) {
      byte first = text.get(ValueLayout.JAVA_BYTE, i);
      if (first == 0 || first == (byte) 0xfe || first == (byte) 0xff) {
        return false;
      }
    }
    return true;
  }

  /** Reads the whole text, which is one object; a text without anything is an empty one. */
  static void readObject(MemorySegment text, FieldReader fields) throws ServingException {
    read(
        text,
        json -> {
          if (json.next() != null) {
            json.object("the request", fields);
            json.end();
          }
        });
  }

  JsonParser parser() {
    return parser;
  }

  JsonToken next() throws IOException {
    return parser.nextToken();
  }

  JsonToken token() {
    return parser.currentToken();
  }

  /** Returns where the current token begins in the text. */
  long offset() {
    return parser.currentTokenLocation().getByteOffset();
  }

  /** Returns the bytes from the current token on. */
  long bytesLeft() {
    return Math.max(0, text.byteSize() - offset());
  }

  /** Returns the text from an offset on. */
  MemorySegment from(long offset) {
    return text.asSlice(offset);
  }

  /**
   * Reads an object. Parts that the reader leaves alone are skipped. A field that is null is not
   * there: many clients write so what they do not give.
   */
  void object(String what, FieldReader fields) throws IOException, ServingException {
    expect(JsonToken.START_OBJECT, what, "an object");
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String key = key();
      if (parser.nextToken() != JsonToken.VALUE_NULL) {
        fields.read(this, key);
        skipValue();
      }
    }
  }

  private String key() throws IOException, ServingException {
    if (++keys > MOST_KEYS) {
      throw Failures.tooLarge("the request has more than " + MOST_KEYS + " keys");
    }
    return parser.currentName();
  }

  /** Goes to the end of the array or object that begins here. */
  private void skip() throws IOException, ServingException {
    int depth = 1;
    while (depth > 0) {
      JsonToken token = parser.nextToken();
      if (token == null) {
        // The parser tells an end within an array itself.
        return;
      }
      if (token.isStructStart()) {
        depth++;
      } else if (token.isStructEnd()) {
        depth--;
      } else if (token == JsonToken.FIELD_NAME) {
        key();
      }
    }
  }

  /** Goes to the end of the value, if one of several tokens begins here. */
  void skipValue() throws IOException, ServingException {
    if (parser.currentToken().isStructStart()) {
      skip();
    }
  }

  /** Checks that nothing follows. */
  void end() throws IOException, ServingException {
    if (parser.nextToken() != null) {
      throw ServingException.invalid(
          "the request goes on behind its end, with "
              + kind()
              + ": expected one object, and Inference-Header-Content-Length if values follow");
    }
  }

  void expect(JsonToken wanted, String what, String expected) throws IOException, ServingException {
    if (parser.currentToken() != wanted) {
      throw wrong(what, expected);
    }
  }

  String text(String what) throws IOException, ServingException {
    expect(JsonToken.VALUE_STRING, what, "a string");
    return parser.getText();
  }

  boolean flag(String what) throws IOException, ServingException {
    if (parser.currentToken() == JsonToken.VALUE_TRUE) {
      return true;
    }
    expect(JsonToken.VALUE_FALSE, what, "true or false");
    return false;
  }

  /** Reads a whole number of at least 0. */
  long natural(String what) throws IOException, ServingException {
    String expected = "a whole number of at least 0";
    expect(JsonToken.VALUE_NUMBER_INT, what, expected);
    if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER || parser.getLongValue() < 0) {
      throw wrong(what, expected);
    }
    return parser.getLongValue();
  }

  ServingException wrong(String what, String expected) throws IOException {
    return ServingException.invalid(what + " is " + kind() + ": expected " + expected);
  }

  /** Returns the current value for messages. */
  String kind() throws IOException {
    return switch (parser.currentToken()) {
      case null -> "missing";
      case START_OBJECT -> "an object";
      case START_ARRAY -> "an array";
      case VALUE_STRING -> "the string " + Texts.quote(parser.getText());
      default -> Texts.cut(parser.getText());
    };
  }

  @Override
  public void close() throws IOException {
    parser.close();
  }
}
