// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.memory.files.AtomicFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.security.InvalidKeyException;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The key that authenticates what the engine keeps: 32 random bytes in a file that only the user
 * can read. Thread-safe. Read anew for each use, so that all processes agree on it at any time, and
 * no copy stays in memory.
 */
final class KeyFile {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int SIZE = 32;

  /** Bytes of a MAC. */
  static final int MAC_SIZE = 32;

  private static final Set<PosixFilePermission> OTHERS =
      EnumSet.complementOf(
          EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));

  private final Path file;

  KeyFile(Path file) {
    this.file = file;
  }

  /** The MAC of something of a name space, if there is a key. */
  Optional<byte[]> mac(String nameSpace, byte[]... parts) throws IOException {
    Optional<byte[]> key = read();
    return key.isEmpty() ? Optional.empty() : Optional.of(mac(key.get(), nameSpace, parts));
  }

  /** The MAC of something of a name space, under a new key if there is none. */
  byte[] macOrCreate(String nameSpace, byte[]... parts) throws IOException {
    Optional<byte[]> key = read();
    if (key.isEmpty()) {
      create();
      key = read();
    }
    return mac(
        key.orElseThrow(() -> new IOException("the key " + file + " does not stay")),
        nameSpace,
        parts);
  }

  private static byte[] mac(byte[] key, String nameSpace, byte[]... parts) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(key, ALGORITHM));
      mac.update(nameSpace.getBytes(StandardCharsets.UTF_8));
      mac.update((byte) 0);
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (NoSuchAlgorithmException | InvalidKeyException e) {
      throw new IllegalStateException(e); // every JDK has it
    }
  }

  /** The key; empty where there is none, or one that others could have read or cut short. */
  private Optional<byte[]> read() throws IOException {
    try {
      PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
      if (view != null) {
        for (PosixFilePermission permission : view.readAttributes().permissions()) {
          if (OTHERS.contains(permission)) {
            return Optional.empty();
          }
        }
      }
      byte[] key = Files.readAllBytes(file);
      return key.length == SIZE ? Optional.of(key) : Optional.empty();
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** Makes a key, unless another process is first. One that is no good is replaced. */
  private void create() throws IOException {
    byte[] key = new byte[SIZE];
    new SecureRandom().nextBytes(key);
    Path fresh = AtomicFiles.temporary(file);
    try {
      AtomicFiles.createPrivately(fresh, key);
      try {
        // A link, other than a rename, never takes the place of a key that came first.
        Files.createLink(file, fresh);
      } catch (FileAlreadyExistsException e) {
        if (read().isEmpty()) {
          Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
        }
      } catch (UnsupportedOperationException e) {
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
      }
    } finally {
      Files.deleteIfExists(fresh);
    }
  }
}
