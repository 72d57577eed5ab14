// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import com.google.flatbuffers.Table;
import java.nio.ByteBuffer;

/**
 * A table of the file, for fields that the generated classes are too old to know. As theirs, its
 * accessors are called by {@link Checked} alone. Not thread-safe.
 */
final class NewerTable extends Table {
  private static final int GRAPHS = 8;
  private static final int BUFFERS = 12;
  private static final int OPERATORS = 10;
  private static final int BUFFER_OFFSET = 6;
  private static final int BUFFER_SIZE = 8;
  private static final int OPTIONS = 28;
  private static final int DECOMPOSITION = 6;

  private NewerTable(int place, ByteBuffer bytes) {
    __reset(place, bytes);
  }

  static NewerTable root(ByteBuffer bytes) {
    return new NewerTable(bytes.getInt(bytes.position()) + bytes.position(), bytes);
  }

  /** The graph that an operator stands for; 0 where it says none. */
  int decomposition(int graph, int operator) {
    NewerTable options = element(GRAPHS, graph).element(OPERATORS, operator);
    int offset = options.__offset(OPTIONS);
    if (offset == 0) {
      return 0;
    }
    NewerTable settings = new NewerTable(options.__indirect(options.bb_pos + offset), bb);
    int field = settings.__offset(DECOMPOSITION);
    return field == 0 ? 0 : bb.getInt(settings.bb_pos + field);
  }

  /** Where in the file the bytes of a buffer stand that are not within it; 0 or 1 for nowhere. */
  long bufferOffset(int buffer) {
    return element(BUFFERS, buffer).number(BUFFER_OFFSET);
  }

  /** How many bytes stand there. */
  long bufferSize(int buffer) {
    return element(BUFFERS, buffer).number(BUFFER_SIZE);
  }

  private NewerTable element(int field, int index) {
    int offset = __offset(field);
    if (offset == 0) {
      throw new IndexOutOfBoundsException("field " + field);
    }
    return new NewerTable(__indirect(__vector(offset) + index * Integer.BYTES), bb);
  }

  private long number(int field) {
    int offset = __offset(field);
    return offset == 0 ? 0 : bb.getLong(bb_pos + offset);
  }
}
