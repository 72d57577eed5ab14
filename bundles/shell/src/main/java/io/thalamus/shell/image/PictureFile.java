// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.image;

import io.thalamus.console.CommandException;
import io.thalamus.console.Reasons;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;
import javax.imageio.stream.MemoryCacheImageInputStream;

/** Reads pictures in the formats that the JDK knows: png, jpg, bmp, gif (its first picture). */
public final class PictureFile {
  /** The most pixels that are decoded; a small file can claim any number. */
  static final long MOST_PIXELS = 1L << 26;

  private static final long LARGEST_FILE = 1L << 30;

  private PictureFile() {}

  /**
   * Reads a picture, upright where the file says how it was held.
   *
   * @throws CommandException where it cannot be read, is damaged, or is too large
   */
  public static Picture read(Path file) throws CommandException {
    String name = file.getFileName() == null ? file.toString() : file.getFileName().toString();
    byte[] bytes = bytes(file);
    if (bytes.length == 0) {
      throw new CommandException("cannot read " + file + ": the file is empty");
    }
    try (ImageInputStream stream =
        new MemoryCacheImageInputStream(new ByteArrayInputStream(bytes))) {
      Iterator<ImageReader> readers = ImageIO.getImageReaders(stream);
      if (!readers.hasNext()) {
        throw new CommandException(
            name + " is no picture that can be read (png, jpg, bmp, gif), nor .npy, .bin or .json");
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
      throw new CommandException(name + " is a damaged picture: " + reason(e), e);
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
      throws IOException, CommandException {
    long width = reader.getWidth(0);
    long height = reader.getHeight(0);
    if (width <= 0 || height <= 0 || width * height > MOST_PIXELS) {
      throw new CommandException(
          "%s claims %sx%s pixels; at most %s are decoded"
              .formatted(name, width, height, MOST_PIXELS));
    }
    List<String> warnings = new ArrayList<>();
    reader.addIIOReadWarningListener((source, warning) -> warnings.add(warning));
    BufferedImage image = reader.read(0);
    for (String warning : warnings) {
      // The JPEG reader fills what is missing with gray, and only warns.
      if (warning.toLowerCase(Locale.ROOT).contains("premature")) {
        throw new CommandException(name + " is a damaged picture: it ends too early");
      }
    }
    return Picture.of(image);
  }

  private static byte[] bytes(Path file) throws CommandException {
    try {
      if (Files.isRegularFile(file) && Files.size(file) > LARGEST_FILE) {
        throw new CommandException("cannot read " + file + ": it is larger than 1 GiB");
      }
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new CommandException("cannot read " + file + ": " + Reasons.of(e), e);
    }
  }
}
