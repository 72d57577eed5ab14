// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.image;

import io.thalamus.console.CommandException;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.shell.tensor.InputFile;
import io.thalamus.shell.tensor.Tensor;
import java.util.Optional;

/**
 * How an input holds a picture. Immutable.
 *
 * @param height rows; 0 where the model leaves that open
 * @param width columns; 0 where the model leaves that open
 * @param channels 1 for gray, 3 for red, green, blue
 * @param channelsFirst whether each channel is a plane of its own
 */
public record PictureLayout(int height, int width, int channels, boolean channelsFirst) {

  /**
   * The layout of an input that looks like a picture: 1xHxWxC, 1xCxHxW, HxWxC or 1xHxW, with 1 or 3
   * channels and a batch of 1 or open.
   */
  public static Optional<PictureLayout> of(Shape shape) {
    if (shape.rank() == 4 && shape.dimension(0) <= 1) {
      if (isChannels(shape.dimension(3))) {
        return Optional.of(
            new PictureLayout(shape.dimension(1), shape.dimension(2), shape.dimension(3), false));
      }
      if (isChannels(shape.dimension(1))) {
        return Optional.of(
            new PictureLayout(shape.dimension(2), shape.dimension(3), shape.dimension(1), true));
      }
    }
    if (shape.rank() == 3) {
      if (isChannels(shape.dimension(2))) {
        return Optional.of(
            new PictureLayout(shape.dimension(0), shape.dimension(1), shape.dimension(2), false));
      }
      if (shape.dimension(0) <= 1) {
        return Optional.of(new PictureLayout(shape.dimension(1), shape.dimension(2), 1, false));
      }
    }
    return Optional.empty();
  }

  private static boolean isChannels(int dimension) {
    return dimension == 1 || dimension == 3;
  }

  /**
   * The value of an input that shows a picture.
   *
   * @throws CommandException where the model leaves the size of its pictures open
   */
  public Tensor fill(Operand input, Picture picture, Normalization normalization)
      throws CommandException {
    if (height == 0 || width == 0) {
      throw new CommandException(
          "the model leaves the size of its pictures open ("
              + InputFile.describe(input)
              + "); give the input as .npy");
    }
    Tensor tensor = Tensor.allocate(input, InputFile.withBatch(input).shape());
    Picture fitted = picture.resize(width, height);
    for (int channel = 0; channel < channels; channel++) {
      float[] fed = new float[256];
      for (int value = 0; value < fed.length; value++) {
        fed[value] = normalization.apply(value, channel);
      }
      int shift = 16 - 8 * channel;
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          int value = channels == 1 ? fitted.luma(x, y) : fitted.rgb(x, y) >> shift & 0xFF;
          long pixel = (long) y * width + x;
          long index =
              channelsFirst ? (long) channel * height * width + pixel : pixel * channels + channel;
          tensor.storeReal(index, fed[value]);
        }
      }
    }
    return tensor;
  }
}
