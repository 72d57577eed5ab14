// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Shape;

/** The order of the dimensions of a four-dimensional tensor. */
public enum DataLayout {
  NHWC(1, 2, 3),
  NCHW(2, 3, 1);

  private final int heightAxis;
  private final int widthAxis;
  private final int channelAxis;

  DataLayout(int heightAxis, int widthAxis, int channelAxis) {
    this.heightAxis = heightAxis;
    this.widthAxis = widthAxis;
    this.channelAxis = channelAxis;
  }

  /** The layout that NNAPI's boolean argument names. */
  public static DataLayout of(boolean nchw) {
    return nchw ? NCHW : NHWC;
  }

  public int heightAxis() {
    return heightAxis;
  }

  public int widthAxis() {
    return widthAxis;
  }

  public int channelAxis() {
    return channelAxis;
  }

  public int height(Shape shape) {
    return shape.dimension(heightAxis);
  }

  public int width(Shape shape) {
    return shape.dimension(widthAxis);
  }

  public int channels(Shape shape) {
    return shape.dimension(channelAxis);
  }

  /** A shape in this layout. */
  public Shape shape(int batch, int height, int width, int channels) {
    return this == NHWC
        ? Shape.of(batch, height, width, channels)
        : Shape.of(batch, channels, height, width);
  }
}
