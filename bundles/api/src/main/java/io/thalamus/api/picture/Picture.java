// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.model.Operand;
import io.thalamus.model.reader.ModelFile;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.awt.image.DataBufferInt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;

/**
 * A picture in memory, red, green and blue from 0 to 255. Immutable; it shares nothing with what it
 * was made of.
 */
public final class Picture {
  /** Of type TYPE_INT_RGB. */
  private final BufferedImage image;

  /** The pixels of the image, which takes long to answer for a single one. */
  private final int[] pixels;

  private Picture(BufferedImage image) {
    this.image = image;
    pixels = pixels(image);
  }

  private static int[] pixels(BufferedImage image) {
    return ((DataBufferInt) image.getRaster().getDataBuffer()).getData();
  }

  /** A picture of pixels {@code 0xRRGGBB}, row by row, which are copied. */
  public static Picture of(int width, int height, int[] pixels) {
    BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    int[] own = pixels(image);
    for (int i = 0; i < own.length; i++) {
      own[i] = pixels[i] & 0xFFFFFF;
    }
    return new Picture(image);
  }

  /**
   * Reads a picture in one of the formats that the JDK knows: png, jpg, bmp, gif (its first
   * picture); upright if the file says how it was held.
   *
   * @throws IOException if the file cannot be read
   * @throws NeuralNetworksException with BAD_DATA if it is no picture, damaged, or too large
   */
  public static Picture read(Path file) throws IOException, NeuralNetworksException {
    return read(String.valueOf(file.getFileName()), Files.readAllBytes(file));
  }

  /**
   * Reads a picture as above.
   *
   * @param name for messages
   * @param file the bytes of the file
   * @throws NeuralNetworksException as above
   */
  public static Picture read(String name, byte[] file) throws NeuralNetworksException {
    return PictureFile.read(name, file);
  }

  /** Returns the picture of an image, on white where it is transparent. */
  public static Picture of(BufferedImage source) {
    int width = source.getWidth();
    int height = source.getHeight();
    BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    boolean gray = source.getRaster().getNumBands() == 1 && source.getType() == gray(source);
    if (gray) {
      // Java takes gray levels for linear light and brightens them when it makes RGB of them;
      // in files they are already as RGB would be.
      int shift = source.getType() == BufferedImage.TYPE_USHORT_GRAY ? 8 : 0;
      int[] samples = new int[width];
      int[] pixels = pixels(image);
      for (int y = 0; y < height; y++) {
        source.getRaster().getSamples(0, y, width, 1, 0, samples);
        for (int x = 0; x < width; x++) {
          pixels[y * width + x] = (samples[x] >> shift) * 0x010101;
        }
      }
      return new Picture(image);
    }
    Graphics2D graphics = image.createGraphics();
    if (source.getColorModel().hasAlpha()) {
      graphics.setColor(Color.WHITE);
      graphics.fillRect(0, 0, width, height);
    }
    graphics.drawImage(source, 0, 0, null);
    graphics.dispose();
    return new Picture(image);
  }

  private static int gray(BufferedImage source) {
    return source.getType() == BufferedImage.TYPE_USHORT_GRAY
        ? BufferedImage.TYPE_USHORT_GRAY
        : BufferedImage.TYPE_BYTE_GRAY;
  }

  /** Returns a copy as an image of type TYPE_INT_RGB. */
  public BufferedImage toImage() {
    BufferedImage copy = new BufferedImage(width(), height(), BufferedImage.TYPE_INT_RGB);
    copy.setData(image.getRaster());
    return copy;
  }

  /**
   * Returns the value of an input that shows this picture, resized and normalized.
   *
   * @param stated what the model's file says of the input, {@link ModelFile#normalization}
   * @throws NeuralNetworksException with BAD_DATA if the input takes no picture, or neither its
   *     range nor the file says how it was normalized
   */
  public Tensor tensor(Operand input, Optional<ModelFile.Normalization> stated)
      throws NeuralNetworksException {
    PictureLayout layout = PictureLayout.of(input);
    Optional<Normalization> normalization = Normalization.known(input, stated);
    if (normalization.isEmpty()) {
      throw NeuralNetworksException.badData(
          "the model does not say how " + input.text() + " was normalized; name a Normalization");
    }
    return layout.fill(input, this, normalization.get());
  }

  /**
   * Returns the value of an input that shows this picture, resized and normalized.
   *
   * @throws NeuralNetworksException with BAD_DATA if the input takes no picture
   */
  public Tensor tensor(Operand input, Normalization normalization) throws NeuralNetworksException {
    return PictureLayout.of(input).fill(input, this, normalization);
  }

  /**
   * Returns the input that this picture is for: the one of the compiled model, or, where the file
   * leaves height and width open and the model was read with 1, one of this picture's size.
   *
   * @param compiled the input of the model
   * @param open the same with open dimensions of 0
   */
  public Operand sized(Operand compiled, Operand open) {
    Optional<PictureLayout> layout = PictureLayout.of(open.shape());
    Optional<PictureLayout> own = PictureLayout.of(compiled.shape());
    boolean isOpen =
        layout.isPresent()
            && layout.get().height() == 0
            && layout.get().width() == 0
            && own.isPresent()
            && own.get().height() == 1
            && own.get().width() == 1;
    return isOpen ? compiled.with(layout.get().shape(open.shape(), height(), width())) : compiled;
  }

  /** Columns. */
  public int width() {
    return image.getWidth();
  }

  /** Rows. */
  public int height() {
    return image.getHeight();
  }

  /**
   * The pixel {@code 0xRRGGBB} at a place.
   *
   * @throws IndexOutOfBoundsException beside the picture
   */
  public int rgb(int x, int y) {
    return pixels[y * width() + Objects.checkIndex(x, width())] & 0xFFFFFF;
  }

  /** Brightness from 0 to 255 by the weights of ITU-R BT.601; gray stays what it is. */
  public int luma(int x, int y) {
    int rgb = rgb(x, y);
    int weighted = 299 * (rgb >> 16) + 587 * (rgb >> 8 & 0xFF) + 114 * (rgb & 0xFF);
    return (weighted + 500) / 1000;
  }

  /**
   * This picture in exactly this size, its proportions not kept: halved by averages of 2x2 pixels
   * while it is at least twice as large, then bilinear.
   */
  public Picture resize(int width, int height) {
    Picture current = this;
    while (current.width() >= 2 * width && current.height() >= 2 * height) {
      current = current.halved();
    }
    if (current.width() == width && current.height() == height) {
      return current;
    }
    BufferedImage resized = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    Graphics2D graphics = resized.createGraphics();
    graphics.setRenderingHint(
        RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
    graphics.drawImage(current.image, 0, 0, width, height, null);
    graphics.dispose();
    return new Picture(resized);
  }

  private Picture halved() {
    int width = width() / 2;
    int height = height() / 2;
    int row = width();
    int[] to = new int[width * height];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        int corner = 2 * y * row + 2 * x;
        int a = pixels[corner];
        int b = pixels[corner + 1];
        int c = pixels[corner + row];
        int d = pixels[corner + row + 1];
        int pixel = 0;
        for (int shift = 16; shift >= 0; shift -= 8) {
          int sum =
              (a >> shift & 0xFF) + (b >> shift & 0xFF) + (c >> shift & 0xFF) + (d >> shift & 0xFF);
          pixel |= (sum + 2) / 4 << shift;
        }
        to[y * width + x] = pixel;
      }
    }
    return of(width, height, to);
  }

  /**
   * This picture turned as Exif's tag Orientation says.
   *
   * @param orientation 1 to 8; anything else means upright
   */
  Picture turned(int orientation) {
    if (orientation < 2 || orientation > 8) {
      return this;
    }
    boolean swapped = orientation >= 5;
    int width = swapped ? height() : width();
    int height = swapped ? width() : height();
    int[] pixels = new int[width * height];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        pixels[y * width + x] =
            switch (orientation) {
              case 2 -> rgb(width - 1 - x, y);
              case 3 -> rgb(width - 1 - x, height - 1 - y);
              case 4 -> rgb(x, height - 1 - y);
              case 5 -> rgb(y, x);
              case 6 -> rgb(y, width - 1 - x);
              case 7 -> rgb(height - 1 - y, width - 1 - x);
              default -> rgb(height - 1 - y, x);
            };
      }
    }
    return of(width, height, pixels);
  }
}
