// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The files of models in a folder: {@code NAME/VERSION/model.tflite} or {@code model.onnx}, where a
 * version is a number from 1 on, or a flat {@code NAME.tflite} or {@code NAME.onnx}, which is
 * version 1. Names that begin with a dot and all other files are left alone.
 */
record ModelFolder(Path folder) {
  private static final List<String> SUFFIXES = List.of(".tflite", ".onnx");
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");
  private static final long FLAT_VERSION = 1;

  /**
   * Returns what is there now: files by name and version.
   *
   * @throws IOException if the folder cannot be read: that says nothing about the models
   */
  Map<String, NavigableMap<Long, FileStamp>> look() throws IOException {
    Map<String, NavigableMap<Long, FileStamp>> models = new TreeMap<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
      for (Path entry : entries) {
        String name = entry.getFileName().toString();
        if (name.startsWith(".")) {
          continue;
        }
        if (Files.isDirectory(entry)) {
          NavigableMap<Long, FileStamp> versions = versions(entry);
          if (!versions.isEmpty()) {
            models.put(name, versions);
          }
        } else {
          flat(entry, name, models);
        }
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return models;
  }

  private static void flat(
      Path file, String name, Map<String, NavigableMap<Long, FileStamp>> models)
      throws IOException {
    for (String suffix : SUFFIXES) {
      if (name.endsWith(suffix) && name.length() > suffix.length()) {
        NavigableMap<Long, FileStamp> versions = new TreeMap<>();
        put(file, FLAT_VERSION, versions);
        if (!versions.isEmpty()) {
          models.putIfAbsent(name.substring(0, name.length() - suffix.length()), versions);
        }
      }
    }
  }

  private static NavigableMap<Long, FileStamp> versions(Path model) throws IOException {
    NavigableMap<Long, FileStamp> versions = new TreeMap<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(model)) {
      for (Path entry : entries) {
        String name = entry.getFileName().toString();
        if (VERSION.matcher(name).matches()) {
          for (String suffix : SUFFIXES) {
            long version = Long.parseLong(name);
            if (!versions.containsKey(version)) {
              put(entry.resolve("model" + suffix), version, versions);
            }
          }
        }
      }
    } catch (NoSuchFileException e) {
      // The folder of the model went meanwhile: it has no versions.
      return versions;
    }
    return versions;
  }

  private static void put(Path file, long version, Map<Long, FileStamp> versions)
      throws IOException {
    try {
      if (Files.isRegularFile(file)) {
        versions.put(version, FileStamp.of(file));
      }
    } catch (NoSuchFileException e) {
      // It went between the two calls: it is not there.
      return;
    }
  }
}
