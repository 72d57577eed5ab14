// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import static io.thalamus.model.LittleEndian.DOUBLE;
import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.LONG;
import static io.thalamus.model.LittleEndian.SHORT;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Writes values as one flat array of JSON. */
final class TensorWriter {
  private TensorWriter() {}

  /** Returns whether JSON has a form for values of a datatype. */
  static boolean isPossible(Datatype datatype) {
    return datatype != Datatype.FP16 && datatype != Datatype.BF16;
  }

  /**
   * Writes an array.
   *
   * @param output the output for messages
   */
  static void write(JsonGenerator json, String output, Datatype datatype, MemorySegment value)
      throws IOException, ServingException {
    json.writeStartArray();
    if (datatype == Datatype.BYTES) {
      writeTexts(json, output, value);
    } else {
      long count = value.byteSize() / datatype.size();
      for (long i = 0; i < count; i++) {
        writeElement(json, datatype, value, i);
      }
    }
    json.writeEndArray();
  }

  private static void writeElement(
      JsonGenerator json, Datatype datatype, MemorySegment value, long i) throws IOException {
    switch (datatype) {
      case BOOL -> json.writeBoolean(value.get(ValueLayout.JAVA_BYTE, i) != 0);
      case UINT8 -> json.writeNumber(Byte.toUnsignedInt(value.get(ValueLayout.JAVA_BYTE, i)));
      case INT8 -> json.writeNumber((int) value.get(ValueLayout.JAVA_BYTE, i));
      case UINT16 -> json.writeNumber(Short.toUnsignedInt(value.getAtIndex(SHORT, i)));
      case INT16 -> json.writeNumber((int) value.getAtIndex(SHORT, i));
      case UINT32 -> json.writeNumber(Integer.toUnsignedLong(value.getAtIndex(INT, i)));
      case INT32 -> json.writeNumber(value.getAtIndex(INT, i));
      case UINT64 ->
          json.writeNumber(new BigInteger(Long.toUnsignedString(value.getAtIndex(LONG, i))));
      case INT64 -> json.writeNumber(value.getAtIndex(LONG, i));
      case FP32 -> json.writeNumber(value.getAtIndex(FLOAT, i));
      case FP64 -> json.writeNumber(value.getAtIndex(DOUBLE, i));
      case FP16, BF16, BYTES -> throw new IllegalArgumentException("no number: " + datatype);
    }
  }

  private static void writeTexts(JsonGenerator json, String output, MemorySegment value)
      throws IOException, ServingException {
    long at = 0;
    while (at < value.byteSize()) {
      int length = value.get(INT, at);
      ByteBuffer bytes = value.asSlice(at + INT.byteSize(), length).asByteBuffer();
      try {
        json.writeString(StandardCharsets.UTF_8.newDecoder().decode(bytes).toString());
      } catch (CharacterCodingException e) {
        throw ServingException.invalid(
            output + " has bytes that are no text, which JSON cannot hold: ask for binary_data");
      }
      at += INT.byteSize() + length;
    }
  }
}
