// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import io.thalamus.json.form.Form;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Operand;
import io.thalamus.model.reader.ModelFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/** The places of a model's larger constants in one file, each place once. Not thread-safe. */
final class ConstantLayout {
  /** Elements of any type, and vectors of them, begin where a processor likes it. */
  private static final long ALIGNMENT = 64;

  private static final long CHUNK = 1 << 20;

  private final Map<Lifetime.Constant, Long> places = new LinkedHashMap<>();
  private long size;

  private ConstantLayout() {}

  static ConstantLayout of(ModelFile file) {
    ConstantLayout layout = new ConstantLayout();
    file.model()
        .subgraphs()
        .flatMap(graph -> graph.operands().stream())
        .map(Operand::lifetime)
        .forEach(layout::place);
    new TreeMap<>(file.firstValues()).values().forEach(layout::place);
    return layout;
  }

  private void place(Lifetime lifetime) {
    if (lifetime instanceof Lifetime.Constant constant
        && isOutside(constant)
        && !places.containsKey(constant)) {
      long start = Math.ceilDiv(size, ALIGNMENT) * ALIGNMENT;
      places.put(constant, start);
      size = start + constant.bytes().byteSize();
    }
  }

  private static boolean isOutside(Lifetime.Constant constant) {
    return constant instanceof ConstantReference || constant.bytes().byteSize() > Form.MAX_INLINE;
  }

  /** Returns where a constant is; empty if it stands in the text. */
  OptionalLong place(Lifetime.Constant constant) {
    Long place = places.get(constant);
    return place == null ? OptionalLong.empty() : OptionalLong.of(place);
  }

  /** Returns the bytes of the file. */
  long size() {
    return size;
  }

  void writeTo(Path file) throws IOException {
    try (FileChannel out =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      for (Map.Entry<Lifetime.Constant, Long> entry : places.entrySet()) {
        long length = entry.getKey().bytes().byteSize();
        for (long at = 0; at < length; at += CHUNK) {
          ByteBuffer part =
              entry.getKey().bytes().asSlice(at, Math.min(CHUNK, length - at)).asByteBuffer();
          long position = entry.getValue() + at;
          while (part.hasRemaining()) {
            position += out.write(part, position);
          }
        }
      }
    }
  }
}
