// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.LONG;
import static io.thalamus.model.LittleEndian.SHORT;

import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;

/**
 * The typed contents of an input as they come. They are kept off the heap in the size of their
 * kind, and made smaller at the end where the datatype is smaller.
 */
final class Contents {
  private static final long FIRST_SIZE = 256;

  /** The kinds of contents, in the order of their field numbers from 1 on. */
  private enum Kind {
    BOOL_CONTENTS(1, MessageReader.VARINT),
    INT_CONTENTS(4, MessageReader.VARINT),
    INT64_CONTENTS(8, MessageReader.VARINT),
    UINT_CONTENTS(4, MessageReader.VARINT),
    UINT64_CONTENTS(8, MessageReader.VARINT),
    FP32_CONTENTS(4, MessageReader.FIXED32),
    FP64_CONTENTS(8, MessageReader.FIXED64),
    BYTES_CONTENTS(0, MessageReader.LENGTH);

    final int size;
    final int wireType;

    Kind(int size, int wireType) {
      this.size = size;
      this.wireType = wireType;
    }

    String field() {
      return name().toLowerCase(Locale.ROOT);
    }

    static Kind of(Datatype datatype) {
      return switch (datatype) {
        case BOOL -> BOOL_CONTENTS;
        case INT8, INT16, INT32 -> INT_CONTENTS;
        case INT64 -> INT64_CONTENTS;
        case UINT8, UINT16, UINT32 -> UINT_CONTENTS;
        case UINT64 -> UINT64_CONTENTS;
        case FP32 -> FP32_CONTENTS;
        case FP64 -> FP64_CONTENTS;
        case BYTES -> BYTES_CONTENTS;
        case FP16, BF16 -> null;
      };
    }
  }

  private final RequestMemory memory;
  private Kind kind;
  private MemorySegment values = MemorySegment.NULL;
  private long used;

  Contents(RequestMemory memory) {
    this.memory = memory;
  }

  /** Reads the message {@code InferTensorContents}. */
  void read(MessageReader in) throws IOException, ServingException {
    long outer = in.enter();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      int field = tag >>> 3;
      if (field > Kind.values().length) {
        in.skip(tag);
        continue;
      }
      Kind given = Kind.values()[field - 1];
      int wireType = tag & 7;
      if (wireType != given.wireType && wireType != MessageReader.LENGTH) {
        in.skip(tag);
        continue;
      }
      if (kind != null && kind != given) {
        throw ServingException.invalid(
            "contents has " + kind.field() + " and " + given.field() + ": expected one of them");
      }
      kind = given;
      if (wireType == given.wireType) {
        element(in);
      } else {
        packed(in);
      }
    }
    in.leave(outer);
  }

  private void packed(MessageReader in) throws IOException, ServingException {
    if (kind.wireType != MessageReader.VARINT) {
      long length = in.length();
      if (length % kind.size != 0) {
        throw ServingException.invalid(
            kind.field() + " has " + length + " bytes: expected a multiple of " + kind.size);
      }
      in.bytes(room(length));
      return;
    }
    long outer = in.enter();
    while (in.hasMore()) {
      element(in);
    }
    in.leave(outer);
  }

  private void element(MessageReader in) throws IOException, ServingException {
    switch (kind) {
      case BOOL_CONTENTS ->
          room(1).set(ValueLayout.JAVA_BYTE, 0, (byte) (in.varint() == 0 ? 0 : 1));
      case INT_CONTENTS, UINT_CONTENTS -> room(4).set(INT, 0, (int) in.varint());
      case INT64_CONTENTS, UINT64_CONTENTS -> room(8).set(LONG, 0, in.varint());
      case FP32_CONTENTS -> room(4).set(INT, 0, in.fixed32());
      case FP64_CONTENTS -> room(8).set(LONG, 0, in.fixed64());
      case BYTES_CONTENTS -> {
        long length = in.length();
        room(4).set(INT, 0, (int) length);
        in.bytes(room(length));
      }
    }
  }

  /** Returns the next bytes, which count as used. */
  private MemorySegment room(long bytes) throws ServingException {
    if (values.byteSize() - used < bytes) {
      long size = Math.max(Math.max(FIRST_SIZE, 2 * values.byteSize()), used + bytes);
      MemorySegment larger = memory.allocate("contents", size);
      MemorySegment.copy(values, 0, larger, 0, used);
      values = larger;
    }
    MemorySegment room = values.asSlice(used, bytes);
    used += bytes;
    return room;
  }

  boolean isEmpty() {
    return kind == null;
  }

  /** Returns the value, as the datatype has it. */
  MemorySegment value(String input, Datatype datatype) throws ServingException {
    Kind expected = Kind.of(datatype);
    if (expected == null) {
      throw ServingException.invalid(
          "input " + Texts.quote(input) + " is " + datatype + ": expected raw_input_contents");
    }
    if (kind != expected) {
      throw ServingException.invalid(
          "input %s is %s and has %s: expected %s"
              .formatted(Texts.quote(input), datatype, kind.field(), expected.field()));
    }
    int size = datatype.size();
    if (kind == Kind.BYTES_CONTENTS || size == kind.size) {
      return values.asSlice(0, used);
    }
    long count = used / kind.size;
    for (long i = 0; i < count; i++) {
      int value = values.get(INT, i * kind.size);
      if (!fits(value, datatype)) {
        throw ServingException.invalid(
            "input %s is %s: %d does not fit".formatted(Texts.quote(input), datatype, value));
      }
      // Never behind what is still to be read.
      if (size == 1) {
        values.set(ValueLayout.JAVA_BYTE, i, (byte) value);
      } else {
        values.set(SHORT, i * size, (short) value);
      }
    }
    return values.asSlice(0, count * size);
  }

  private static boolean fits(int value, Datatype datatype) {
    return switch (datatype) {
      case INT8 -> value == (byte) value;
      case INT16 -> value == (short) value;
      case UINT8 -> value == (value & 0xff);
      case UINT16 -> value == (value & 0xffff);
      default -> true;
    };
  }
}
