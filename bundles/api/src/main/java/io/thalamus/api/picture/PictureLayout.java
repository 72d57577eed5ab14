// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * The layout of a picture in an input. Immutable.
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

  /** Returns the layout of an input; fails if it takes no picture of a known size. */
  static PictureLayout of(Operand input) throws NeuralNetworksException {
    PictureLayout layout =
        of(input.shape())
            .orElseThrow(() -> NeuralNetworksException.badData(input.text() + " takes no picture"));
    if (layout.height == 0 || layout.width == 0) {
      throw NeuralNetworksException.badData(
          "the model leaves the size of its pictures open ("
              + input.text()
              + "); name it by Operand.with(Shape)");
    }
    return layout;
  }

  /** Returns the value of an input that shows a picture. */
  Tensor fill(Operand input, Picture picture, Normalization normalization)
      throws NeuralNetworksException {
    if (!normalization.fits(channels)) {
      throw NeuralNetworksException.badData(
          "a normalization has one number, or one for each of the %s channels of %s"
              .formatted(channels, input.text()));
    }
    Shape shape = input.shape();
    Tensor tensor =
        Tensor.allocate(
            input, shape.rank() > 1 && shape.dimension(0) == 0 ? shape.with(0, 1) : shape);
    Picture fitted = picture.resize(width, height);
    Tensor levels = Tensor.allocate(input, Shape.of(256));
    for (int channel = 0; channel < channels; channel++) {
      for (int value = 0; value < 256; value++) {
        levels.storeReal(value, normalization.apply(value, channel));
      }
      int shift = 16 - 8 * channel;
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          int value = channels == 1 ? fitted.luma(x, y) : fitted.rgb(x, y) >> shift & 0xFF;
          copy(levels, value, tensor, index(channel, (long) y * width + x));
        }
      }
    }
    return tensor;
  }

  /** Copies an element, which takes less time than to store one. */
  private static void copy(Tensor in, long from, Tensor out, long to) {
    switch (in.type().elementSize()) {
      case Byte.BYTES ->
          out.segment()
              .set(ValueLayout.JAVA_BYTE, to, in.segment().get(ValueLayout.JAVA_BYTE, from));
      case Float.BYTES ->
          out.segment()
              .setAtIndex(
                  ValueLayout.JAVA_INT, to, in.segment().getAtIndex(ValueLayout.JAVA_INT, from));
      default -> out.store(to, in.stored(from));
    }
  }

  /**
   * Returns the picture that a value shows, each channel rounded and cut to 0 to 255.
   *
   * @param normalization how values were made of 0 to 255
   * @throws NeuralNetworksException with BAD_DATA if its dimensions are not a picture's
   */
  public static Picture picture(Tensor tensor, Normalization normalization)
      throws NeuralNetworksException {
    PictureLayout layout = of(tensor.operand());
    int[] pixels = new int[Math.multiplyExact(layout.height, layout.width)];
    for (int pixel = 0; pixel < pixels.length; pixel++) {
      for (int channel = 0; channel < 3; channel++) {
        int from = layout.channels == 1 ? 0 : channel;
        double fed = tensor.real(layout.index(from, pixel));
        int value = (int) Math.clamp(Math.rint(normalization.invert(fed, from)), 0, 255);
        pixels[pixel] |= value << 16 - 8 * channel;
      }
    }
    return Picture.of(layout.width, layout.height, pixels);
  }

  /** Returns dimensions laid out so, for one picture of this size. */
  Shape shape(Shape open, int newHeight, int newWidth) {
    int first =
        open.rank() == 4 && channelsFirst || open.rank() == 3 && !isChannels(open.dimension(2))
            ? open.rank() - 2
            : open.rank() - 3;
    Shape sized = open.with(first, newHeight).with(first + 1, newWidth);
    return sized.dimension(0) == 0 ? sized.with(0, 1) : sized;
  }

  private long index(int channel, long pixel) {
    return channelsFirst ? (long) channel * height * width + pixel : pixel * channels + channel;
  }
}
