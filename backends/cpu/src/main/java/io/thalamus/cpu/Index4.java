// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;

/** The index of an element of a four-dimensional tensor. */
final class Index4 {
  private final long batchStride;
  private final long rowStride;
  private final long columnStride;
  private final long channelStride;

  Index4(DataLayout layout, Shape shape) {
    long height = layout.height(shape);
    long width = layout.width(shape);
    long channels = layout.channels(shape);
    batchStride = height * width * channels;
    if (layout == DataLayout.NHWC) {
      rowStride = width * channels;
      columnStride = channels;
      channelStride = 1;
    } else {
      rowStride = width;
      columnStride = 1;
      channelStride = height * width;
    }
  }

  /** Returns the distance of one channel from the next. */
  long channelStride() {
    return channelStride;
  }

  long of(int batch, int y, int x, int channel) {
    return batch * batchStride + y * rowStride + x * columnStride + channel * channelStride;
  }
}
