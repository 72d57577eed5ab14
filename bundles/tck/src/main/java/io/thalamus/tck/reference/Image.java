// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

/** The dimensions of images in one of the two layouts. */
record Image(int batches, int height, int width, int channels, boolean nchw) {
  static Image of(int[] shape, boolean nchw) {
    return nchw
        ? new Image(shape[0], shape[2], shape[3], shape[1], true)
        : new Image(shape[0], shape[1], shape[2], shape[3], false);
  }

  /** Images of another size in the same layout. */
  Image with(int newBatches, int newHeight, int newWidth, int newChannels) {
    return new Image(newBatches, newHeight, newWidth, newChannels, nchw);
  }

  int[] shape() {
    return nchw
        ? new int[] {batches, channels, height, width}
        : new int[] {batches, height, width, channels};
  }

  int size() {
    return batches * height * width * channels;
  }

  /** The element at a place. */
  int at(int batch, int y, int x, int channel) {
    return nchw
        ? ((batch * channels + channel) * height + y) * width + x
        : ((batch * height + y) * width + x) * channels + channel;
  }

  /** Returns whether there is such a pixel. */
  boolean holds(int y, int x) {
    return y >= 0 && y < height && x >= 0 && x < width;
  }

  /** Calls for every element, in any order. */
  void each(Place place) {
    for (int b = 0; b < batches; b++) {
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          for (int c = 0; c < channels; c++) {
            place.at(b, y, x, c);
          }
        }
      }
    }
  }

  /** Takes a place. */
  @FunctionalInterface
  interface Place {
    void at(int batch, int y, int x, int channel);
  }
}
