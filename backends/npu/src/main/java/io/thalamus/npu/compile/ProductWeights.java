// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.WeightCodec;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Weights of a convolution or a matrix product, [column, tap, channel], cut into tiles in the order
 * in which the array takes them: in blocks of as many columns as the array has, each [tap, channel,
 * column]. Thread-safe; owns the weights.
 */
final class ProductWeights {
  private final byte[] weights;
  private final int columns;
  private final int taps;
  private final int channels;
  private final int elementSize;
  private final int arrayColumns;
  private final int center;
  private final ConcurrentHashMap<Tile, Integer> sizes = new ConcurrentHashMap<>();

  /**
   * Weights as they are stored.
   *
   * @param center of 8-bit weights, where most of them lie
   */
  ProductWeights(
      byte[] weights,
      int columns,
      int taps,
      int channels,
      int elementSize,
      int arrayColumns,
      int center) {
    this.weights = weights;
    this.columns = columns;
    this.taps = taps;
    this.channels = channels;
    this.elementSize = elementSize;
    this.arrayColumns = arrayColumns;
    this.center = center;
  }

  int columns() {
    return columns;
  }

  int channels() {
    return channels;
  }

  /** Some columns and channels of the weights, packed. */
  Tile tile(int firstColumn, int tileColumns, int firstChannel, int tileChannels) {
    return new Tile(this, firstColumn, tileColumns, firstChannel, tileChannels);
  }

  /** A packed tile; equal where it is cut from the same weights at the same place. */
  record Tile(ProductWeights weights, int firstColumn, int columns, int firstChannel, int channels)
      implements Constant {
    /**
     * Written out, since the JDK keeps what it makes for a record in a cache of its own, softly:
     * with a component of this bundle's types it would hold the bundle's class loader.
     */
    @Override
    public boolean equals(Object other) {
      return other instanceof Tile tile
          && weights == tile.weights
          && firstColumn == tile.firstColumn
          && columns == tile.columns
          && firstChannel == tile.firstChannel
          && channels == tile.channels;
    }

    @Override
    public int hashCode() {
      int hash = 31 * System.identityHashCode(weights) + firstColumn;
      return 31 * (31 * (31 * hash + columns) + firstChannel) + channels;
    }

    /** Bytes in the scratchpad. */
    int unpackedSize() {
      return columns * weights.taps * channels * weights.elementSize;
    }

    @Override
    public int size() {
      return weights.sizes.computeIfAbsent(
          this, tile -> WeightCodec.packedSize(tile.unpacked(), weights.center));
    }

    @Override
    public byte[] bytes() {
      return WeightCodec.pack(unpacked(), weights.center);
    }

    private byte[] unpacked() {
      byte[] tile = new byte[unpackedSize()];
      int size = weights.elementSize;
      int at = 0;
      for (int block = 0; block < columns; block += weights.arrayColumns) {
        int width = Math.min(weights.arrayColumns, columns - block);
        for (int tap = 0; tap < weights.taps; tap++) {
          for (int c = 0; c < channels; c++) {
            for (int column = 0; column < width; column++) {
              int from = (firstColumn + block + column) * weights.taps + tap;
              int index = (from * weights.channels + firstChannel + c) * size;
              for (int b = 0; b < size; b++) {
                tile[at++] = weights.weights[index + b];
              }
            }
          }
        }
      }
      return tile;
    }
  }
}
