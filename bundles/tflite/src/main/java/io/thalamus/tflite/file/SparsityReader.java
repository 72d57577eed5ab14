// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import io.thalamus.tflite.file.FlatSparsity.Level;
import java.util.List;
import org.tensorflow.lite.schema.DimensionMetadata;
import org.tensorflow.lite.schema.DimensionType;
import org.tensorflow.lite.schema.Int32Vector;
import org.tensorflow.lite.schema.SparseIndexVector;
import org.tensorflow.lite.schema.SparsityParameters;
import org.tensorflow.lite.schema.Uint16Vector;
import org.tensorflow.lite.schema.Uint8Vector;

/** Reads {@link FlatSparsity}. Stateless. */
final class SparsityReader {
  private SparsityReader() {}

  static FlatSparsity read(SparsityParameters table, Checked place) {
    List<Level> levels =
        place.tables(table::dimMetadataLength, table::dimMetadata).stream()
            .map(level -> level(level, place))
            .toList();
    return new FlatSparsity(
        place.ints(table::traversalOrderLength, table::traversalOrder),
        place.ints(table::blockMapLength, table::blockMap),
        List.copyOf(levels));
  }

  private static Level level(DimensionMetadata table, Checked place) {
    if (place.get(table::format) == DimensionType.DENSE) {
      return new Level(true, place.get(table::denseSize), new int[0], new int[0]);
    }
    byte segments = place.get(table::arraySegmentsType);
    byte indices = place.get(table::arrayIndicesType);
    return new Level(
        false,
        0,
        numbers(segments, table::arraySegments, place),
        numbers(indices, table::arrayIndices, place));
  }

  /** The accessor of a union, which fills the object that it is given. */
  private interface Union {
    com.google.flatbuffers.Table fill(com.google.flatbuffers.Table object);
  }

  private static int[] numbers(byte type, Union union, Checked place) {
    switch (type) {
      case SparseIndexVector.Int32Vector -> {
        Int32Vector vector = new Int32Vector();
        if (place.get(() -> union.fill(vector)) != null) {
          return place.ints(vector::valuesLength, vector::values);
        }
      }
      case SparseIndexVector.Uint16Vector -> {
        Uint16Vector vector = new Uint16Vector();
        if (place.get(() -> union.fill(vector)) != null) {
          return place.ints(vector::valuesLength, vector::values);
        }
      }
      case SparseIndexVector.Uint8Vector -> {
        Uint8Vector vector = new Uint8Vector();
        if (place.get(() -> union.fill(vector)) != null) {
          return place.ints(vector::valuesLength, vector::values);
        }
      }
      default -> {
        // Reported below, as when the table is missing.
      }
    }
    throw new Refusal(
        "the file is damaged: a sparse constant does not say where its elements stand");
  }
}
