// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import com.google.flatbuffers.IntVector;
import com.google.flatbuffers.Table;
import java.nio.ByteBuffer;
import org.tensorflow.lite.schema.QuantizationParameters;

/**
 * A table of the file by the places of its fields, for what the generated classes do not do: some
 * fields are newer than they are, and the class of operators loads those of all their options when
 * it is verified, which a start pays for. As theirs, its accessors are called by {@link Checked}
 * alone. Not thread-safe.
 */
final class FlatTable extends Table {
  // The places of the fields in TensorFlow's schema.fbs: 4 and two more for each.
  private static final int GRAPHS = 8;
  private static final int BUFFERS = 12;
  private static final int OPERATORS = 10;
  private static final int BUFFER_OFFSET = 6;
  private static final int BUFFER_SIZE = 8;
  private static final int OPCODE_INDEX = 4;
  private static final int INPUTS = 6;
  private static final int OUTPUTS = 8;
  private static final int OPTIONS_TYPE = 10;

  /** The place of the options of an operator. */
  static final int OPTIONS = 12;

  private static final int CUSTOM_OPTIONS = 14;
  private static final int INTERMEDIATES = 20;
  private static final int NEWER_OPTIONS = 28;
  private static final int DECOMPOSITION = 6;
  private static final int BLOCK_SCALES = 4;
  private static final int BLOCK_ZERO_POINTS = 6;
  private static final int BLOCK_SIZE = 8;

  /** The kind of quantization that is newer than the generated class. */
  private static final byte BLOCKWISE = 2;

  private FlatTable() {}

  private FlatTable(int place, ByteBuffer bytes) {
    __reset(place, bytes);
  }

  static FlatTable root(ByteBuffer bytes) {
    return new FlatTable(bytes.getInt(bytes.position()) + bytes.position(), bytes);
  }

  /** A graph of the model. */
  FlatTable graph(int index) {
    return element(GRAPHS, index);
  }

  /** An operator of the graph. */
  FlatTable operator(int index) {
    return element(OPERATORS, index);
  }

  /** The operator's place among the operator codes. */
  int opcodeIndex() {
    return int32(OPCODE_INDEX);
  }

  /** The tensors that the operator reads; null where it names none. */
  IntVector inputs() {
    return ints(INPUTS);
  }

  /** The tensors that the operator writes; null where it names none. */
  IntVector outputs() {
    return ints(OUTPUTS);
  }

  /** The tensors that only carry quantization; null where it names none. */
  IntVector intermediates() {
    return ints(INTERMEDIATES);
  }

  /** Which options the operator has, as a constant of the generated class. */
  byte optionsType() {
    int offset = __offset(OPTIONS_TYPE);
    return offset == 0 ? 0 : bb.get(bb_pos + offset);
  }

  /** Fills an object with the operator's options; null where it has none. */
  Table options(Table options) {
    int offset = __offset(OPTIONS);
    return offset == 0 ? null : __union(options, bb_pos + offset);
  }

  /** How many bytes the settings of a custom operator have. */
  int customOptionsLength() {
    int offset = __offset(CUSTOM_OPTIONS);
    return offset == 0 ? 0 : __vector_len(offset);
  }

  /** The settings of a custom operator; null where it has none. */
  ByteBuffer customOptions() {
    return __vector_as_bytebuffer(CUSTOM_OPTIONS, 1);
  }

  /** The graph that the operator stands for; 0 where it says none. */
  int decomposition() {
    int offset = __offset(NEWER_OPTIONS);
    return offset == 0 ? 0 : new FlatTable(__indirect(bb_pos + offset), bb).int32(DECOMPOSITION);
  }

  /** Where in the file the bytes of a buffer stand that are not within it; 0 or 1 for nowhere. */
  long bufferOffset(int buffer) {
    return element(BUFFERS, buffer).int64(BUFFER_OFFSET);
  }

  /** How many bytes stand there. */
  long bufferSize(int buffer) {
    return element(BUFFERS, buffer).int64(BUFFER_SIZE);
  }

  /** How a tensor is quantized in blocks; null where it is not. */
  static FlatBlocks blocks(QuantizationParameters quantization) {
    FlatTable table = new FlatTable();
    if (quantization.detailsType() != BLOCKWISE || quantization.details(table) == null) {
      return null;
    }
    boolean hasZeroPoints = table.__offset(BLOCK_ZERO_POINTS) != 0;
    return new FlatBlocks(
        table.int32(BLOCK_SCALES),
        hasZeroPoints ? table.int32(BLOCK_ZERO_POINTS) : -1,
        table.int32(BLOCK_SIZE));
  }

  private FlatTable element(int field, int index) {
    int offset = __offset(field);
    if (offset == 0) {
      throw new IndexOutOfBoundsException("field " + field);
    }
    return new FlatTable(__indirect(__vector(offset) + index * Integer.BYTES), bb);
  }

  private IntVector ints(int field) {
    int offset = __offset(field);
    return offset == 0 ? null : new IntVector().__assign(__vector(offset), bb);
  }

  private int int32(int field) {
    int offset = __offset(field);
    return offset == 0 ? 0 : bb.getInt(bb_pos + offset);
  }

  private long int64(int field) {
    int offset = __offset(field);
    return offset == 0 ? 0 : bb.getLong(bb_pos + offset);
  }
}
