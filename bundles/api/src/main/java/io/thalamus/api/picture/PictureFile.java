// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;
import javax.imageio.stream.MemoryCacheImageInputStream;

/** Reads pictures in the formats that the JDK knows. */
final class PictureFile {
  /** The most pixels that are decoded; a small file can claim any number. */
  static final long MOST_PIXELS = 1L << 26;

  private PictureFile() {}

  /** Reads a picture; see {@link Picture#read(String, byte[])}. */
  static Picture read(String name, byte[] bytes) throws NeuralNetworksException {
    try (ImageInputStream stream =
        new MemoryCacheImageInputStream(new ByteArrayInputStream(bytes))) {
      Iterator<ImageReader> readers = ImageIO.getImageReaders(stream);
      if (!readers.hasNext()) {
        throw badData(name + " is no picture that can be read (png, jpg, bmp, gif)", null);
      }
      ImageReader reader = readers.next();
      try {
        reader.setInput(stream, true, true);
        return decode(reader, name).turned(Exif.orientation(bytes));
      } finally {
        reader.dispose();
      }
    } catch (IOException | RuntimeException e) {
      // The JDK's readers answer damaged files with exceptions of any kind.
      throw badData(name + " is a damaged picture: " + reason(e), e);
    }
  }

  private static String reason(Exception e) {
    if (e instanceof EOFException) {
      return "it ends too early";
    }
    String message = e.getMessage();
    return message == null || message.isBlank()
        ? "its parts do not fit together (" + e.getClass().getSimpleName() + ")"
        : message.strip().lines().findFirst().orElseThrow();
  }

  private static Picture decode(ImageReader reader, String name)
      throws IOException, NeuralNetworksException {
    long width = reader.getWidth(0);
    long height = reader.getHeight(0);
    if (width <= 0 || height <= 0 || width * height > MOST_PIXELS) {
      throw badData(
          "%s claims %sx%s pixels; at most %s are decoded"
              .formatted(name, width, height, MOST_PIXELS),
          null);
    }
    List<String> warnings = new ArrayList<>();
    reader.addIIOReadWarningListener((source, warning) -> warnings.add(warning));
    BufferedImage image = reader.read(0);
    for (String warning : warnings) {
      // The JPEG reader fills what is missing with gray, and only warns.
      if (warning.toLowerCase(Locale.ROOT).contains("premature")) {
        throw badData(name + " is a damaged picture: it ends too early", null);
      }
    }
    return Picture.of(image);
  }

  private static NeuralNetworksException badData(String message, Exception cause) {
    return new NeuralNetworksException(ResultCode.BAD_DATA, message, cause);
  }
}
