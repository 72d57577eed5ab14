// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;

/**
 * A file as it was at one moment: two that are equal are of the same contents, unless somebody
 * hides it.
 *
 * @param identity of the file system; tells a file from one that was moved to its place
 */
record FileStamp(Path path, long size, FileTime modified, Object identity) {
  static FileStamp of(Path path) throws IOException {
    BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
    return new FileStamp(
        path,
        attributes.size(),
        attributes.lastModifiedTime(),
        String.valueOf(attributes.fileKey()));
  }
}
