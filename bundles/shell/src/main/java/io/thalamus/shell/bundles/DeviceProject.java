// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.console.CommandException;
import io.thalamus.console.Reasons;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.lang.model.SourceVersion;
import org.osgi.framework.Bundle;

/**
 * A Maven project with a device in it, made out of the example of that name. Immutable.
 *
 * @param files the example's files: names with slashes, to their texts
 */
public record DeviceProject(Map<String, String> files) {
  /** The example's own name, in each of its files and in the names of some. */
  private static final String EXAMPLE = "template";

  /** The folder of this bundle that holds the example. */
  private static final String FOLDER = "META-INF/example-device/";

  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9]{0,39}");

  public DeviceProject {
    files = Collections.unmodifiableMap(new TreeMap<>(files));
  }

  /**
   * Reads the example out of a bundle.
   *
   * @throws IOException if it cannot be read
   */
  public static DeviceProject of(Bundle bundle) throws IOException {
    Map<String, String> files = new TreeMap<>();
    for (URL entry : Collections.list(bundle.findEntries(FOLDER, "*.*", true))) {
      String path = entry.getPath();
      try (InputStream in = entry.openStream()) {
        files.put(
            path.substring(path.indexOf(FOLDER) + FOLDER.length()),
            new String(in.readAllBytes(), StandardCharsets.UTF_8));
      }
    }
    return new DeviceProject(files);
  }

  /**
   * Checks the short name of a device, which becomes the name of a package and of a class too.
   *
   * @throws CommandException where it cannot be one
   */
  public static void check(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new CommandException(
          "'%s' cannot be a device's name; one is up to 40 lower-case letters and digits, a letter first"
              .formatted(name));
    }
    if (SourceVersion.isKeyword(name)) {
      throw new CommandException(
          "'%s' cannot be a device's name: Java keeps the word, and no package can have it"
              .formatted(name));
    }
  }

  /**
   * Writes the project.
   *
   * @param name the device's short name, which {@link #check} takes
   * @param folder does not exist, or is empty
   * @throws CommandException if it cannot be written; then nothing of it is left
   */
  public void write(String name, Path folder) {
    Deque<Path> written = new ArrayDeque<>();
    try {
      checkFree(folder);
      for (Map.Entry<String, String> file : files.entrySet()) {
        Path path = folder.resolve(renamed(file.getKey(), name));
        createFolders(path.getParent(), written);
        written.push(path);
        Files.writeString(path, renamed(file.getValue(), name));
      }
    } catch (IOException e) {
      String at =
          e instanceof FileSystemException named && named.getFile() != null
              ? named.getFile()
              : folder.toString();
      CommandException failure =
          new CommandException("cannot write %s: %s".formatted(at, Reasons.of(e)), e);
      remove(written, failure);
      throw failure;
    }
  }

  private static void checkFree(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return;
    }
    try (Stream<Path> present = Files.list(folder)) {
      if (present.findAny().isPresent()) {
        throw new CommandException(
            folder + " exists and is not empty; name a folder that does not exist yet");
      }
    }
  }

  private static void createFolders(Path folder, Deque<Path> written) throws IOException {
    if (Files.isDirectory(folder)) {
      return;
    }
    if (folder.getParent() != null) {
      createFolders(folder.getParent(), written);
    }
    Files.createDirectory(folder);
    written.push(folder);
  }

  private static void remove(Deque<Path> written, CommandException failure) {
    for (Path path : written) {
      try {
        Files.deleteIfExists(path);
      } catch (IOException e) {
        failure.addSuppressed(e);
      }
    }
  }

  private static String renamed(String text, String name) {
    return text.replace(EXAMPLE, name).replace(capital(EXAMPLE), capital(name));
  }

  private static String capital(String word) {
    return word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1);
  }
}
