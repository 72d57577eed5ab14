// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import io.thalamus.json.form.Form;
import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.reader.ModelFile;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Optional;

/** Writes models as JSON, with their larger constants in one file beside it. Stateless. */
public final class JsonModel {
  private static final String ENDING = ".json";

  private JsonModel() {}

  /**
   * The files of a model.
   *
   * @param text the model
   * @param constants the file beside it; empty if all constants stand in the text
   * @param constantBytes the size of that file
   */
  public record Written(Path text, Optional<Path> constants, long constantBytes) {}

  /** Returns where the constants of a model are: {@code net.constants} for {@code net.json}. */
  public static Path constants(Path text) {
    String name = text.getFileName().toString();
    return text.resolveSibling(
        name.substring(0, name.length() - ENDING.length()) + "." + Form.CONSTANTS);
  }

  /**
   * Writes a model as it was read: of a file that leaves dimensions or the entry point open, what
   * was chosen. Files of these names are replaced, each as a whole, the constants first.
   *
   * @param text ends in {@code .json}
   * @throws IOException if they cannot be written
   * @throws IllegalArgumentException if the name ends in something else
   */
  public static Written write(ModelFile model, Path text) throws IOException {
    if (!text.getFileName().toString().endsWith(ENDING)) {
      throw new IllegalArgumentException("the name of " + text + " does not end in " + ENDING);
    }
    ConstantLayout layout = ConstantLayout.of(model);
    Path beside = constants(text);
    Optional<ModelTextWriter.Constants> constants = Optional.empty();
    if (layout.size() > 0) {
      AtomicFiles.replace(absolute(beside), layout::writeTo);
      constants =
          Optional.of(
              new ModelTextWriter.Constants(
                  beside.getFileName().toString(), layout.size(), digest(beside)));
    }
    Optional<ModelTextWriter.Constants> header = constants;
    AtomicFiles.replace(
        absolute(text),
        draft -> {
          try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(draft))) {
            ModelTextWriter.write(model, layout, header, out);
          }
        });
    return new Written(text, constants.map(_ -> beside), layout.size());
  }

  private static Path absolute(Path file) throws IOException {
    return Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
  }

  private static String digest(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file);
        Arena arena = Arena.ofConfined()) {
      return HexFormat.of()
          .formatHex(Digests.sha256(channel.map(MapMode.READ_ONLY, 0, channel.size(), arena)));
    }
  }
}
