// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.thalamus.model.reader.SegmentInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * The protobuf message that is being read: its fields one after the other. Lengths are compared
 * with what is left before anything is allocated. Not thread-safe.
 *
 * <p>Reads through a stream, since Protobuf reads memory outside of the heap by unsafe access
 * alone.
 */
final class Message {
  /** The deepest nesting of graphs and functions: a damaged file must not exhaust the stack. */
  private static final int MAX_DEPTH = 64;

  private static final int BUFFER = 1 << 13;
  private static final int MAX_TEXT = 1 << 20;

  private final CodedInputStream in;
  private final MemorySegment file;
  private int tag;
  private int depth;

  Message(MemorySegment file) {
    if (file.byteSize() > Integer.MAX_VALUE) {
      throw new Refusal("the file is larger than 2 GiB, which protobuf does not allow");
    }
    this.file = file;
    this.in = CodedInputStream.newInstance(new SegmentInputStream(file), BUFFER);
    this.in.setSizeLimit(Integer.MAX_VALUE);
  }

  /** A reader of the fields of one message. */
  @FunctionalInterface
  interface Fields {
    /** Reads the value of a field, or skips it. */
    void read(int field) throws IOException;
  }

  /** Reads the outermost message. */
  void readAll(Fields fields) {
    try {
      int end = in.pushLimit(Math.toIntExact(file.byteSize()));
      readFields(fields);
      in.popLimit(end);
    } catch (IOException e) {
      throw new Refusal("the file is damaged, or not an ONNX file: " + e.getMessage(), e);
    }
  }

  private void readFields(Fields fields) throws IOException {
    for (tag = in.readTag(); tag != 0; tag = in.readTag()) {
      fields.read(WireFormat.getTagFieldNumber(tag));
    }
  }

  /** Reads a field that is a message. */
  void message(Fields fields) throws IOException {
    int length = length();
    if (++depth > MAX_DEPTH) {
      throw new Refusal("its messages are nested more than " + MAX_DEPTH + " deep");
    }
    int outer = in.pushLimit(length);
    readFields(fields);
    in.popLimit(outer);
    depth--;
  }

  /** The length of a field of bytes, all of which the message around it holds. */
  private int length() throws IOException {
    require(WireFormat.WIRETYPE_LENGTH_DELIMITED);
    int length = in.readRawVarint32();
    if (length < 0 || length > in.getBytesUntilLimit()) {
      throw damaged("has a length beyond its message");
    }
    return length;
  }

  void skip() throws IOException {
    in.skipField(tag);
  }

  long int64() throws IOException {
    require(WireFormat.WIRETYPE_VARINT);
    return in.readInt64();
  }

  int int32() throws IOException {
    return (int) int64();
  }

  float float32() throws IOException {
    require(WireFormat.WIRETYPE_FIXED32);
    return in.readFloat();
  }

  /** A text; what is no UTF-8 in it is replaced. */
  String text() throws IOException {
    int length = length();
    if (length > MAX_TEXT) {
      in.skipRawBytes(length);
      return "";
    }
    return new String(in.readRawBytes(length), StandardCharsets.UTF_8);
  }

  /** The place of a field of bytes in the file; they are not read. */
  MemorySegment bytes() throws IOException {
    int length = length();
    int offset = in.getTotalBytesRead();
    in.skipRawBytes(length);
    return file.asSlice(offset, length);
  }

  /** Adds the integers of a repeated field, packed or one by one. */
  void int64s(Numbers numbers) throws IOException {
    read(WireFormat.WIRETYPE_VARINT, numbers);
  }

  /** Adds the bits of the numbers of a repeated field of 32 bits each, packed or one by one. */
  void fixed32s(Numbers numbers) throws IOException {
    read(WireFormat.WIRETYPE_FIXED32, numbers);
  }

  /** Adds the bits of the numbers of a repeated field of 64 bits each, packed or one by one. */
  void fixed64s(Numbers numbers) throws IOException {
    read(WireFormat.WIRETYPE_FIXED64, numbers);
  }

  private void read(int wireType, Numbers numbers) throws IOException {
    if (WireFormat.getTagWireType(tag) == wireType) {
      numbers.add(number(wireType));
      return;
    }
    int outer = in.pushLimit(length());
    while (!in.isAtEnd()) {
      numbers.add(number(wireType));
    }
    in.popLimit(outer);
  }

  private long number(int wireType) throws IOException {
    return switch (wireType) {
      case WireFormat.WIRETYPE_VARINT -> in.readInt64();
      case WireFormat.WIRETYPE_FIXED32 -> in.readRawLittleEndian32();
      default -> in.readRawLittleEndian64();
    };
  }

  private void require(int wireType) {
    if (WireFormat.getTagWireType(tag) != wireType) {
      throw damaged("is of another kind than ONNX says");
    }
  }

  private Refusal damaged(String what) {
    return new Refusal(
        "the file is damaged: field %s before byte %s %s"
            .formatted(WireFormat.getTagFieldNumber(tag), in.getTotalBytesRead(), what));
  }
}
