// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;

/**
 * Elements in a file without a header: little-endian, row-major, for a model with state one step
 * after another. Immutable; reads the file each time.
 *
 * @param file where they stand
 * @param type of the elements
 * @param shape of one step; none for a scalar
 * @param steps how many there are; 1 unless the model has state
 */
public record StoredTensor(Path file, Elements type, Shape shape, int steps) {
  public StoredTensor {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(shape, "shape");
    if (steps < 1) {
      throw new IllegalArgumentException("steps must be at least 1, not " + steps);
    }
  }

  /** The bytes of one step. */
  public long byteSize() {
    return shape.elementCount() * type.size();
  }

  /**
   * The bytes of all steps.
   *
   * @throws IOException where the file cannot be read, or is of another size
   */
  public byte[] read() throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    if (bytes.length != steps * byteSize()) {
      throw new IOException(
          "%s has %s bytes, but %s x %s %s are %s"
              .formatted(file, bytes.length, steps, shape, type, steps * byteSize()));
    }
    return bytes;
  }

  /**
   * The bytes of one step; of the only one where there are no more.
   *
   * @throws IOException where the file cannot be read, or is of another size
   */
  public byte[] read(int step) throws IOException {
    int size = Math.toIntExact(byteSize());
    int start = steps == 1 ? 0 : Objects.checkIndex(step, steps) * size;
    return Arrays.copyOfRange(read(), start, start + size);
  }
}
