// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.memory.files.IoMessages;
import io.thalamus.memory.files.LogOnce;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.ComponentContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.ServiceScope;

/**
 * The engine over a directory. Thread-safe. Owns one open file, its lock, until it is closed.
 * Nothing is written before something is kept.
 */
@Component(service = CacheEngine.class, scope = ServiceScope.BUNDLE)
public final class FileCacheEngine implements CacheEngine, AutoCloseable {
  private static final String FOLDER = "cache-engine";
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** The purpose of codes in the map, which no bundle can ask for. */
  private static final String COMPILATION = "compilation";

  /** Codes that a name space remembers. */
  static final int CAPACITY = 4096;

  private final Path directory;
  private final String nameSpace;
  private final KeyFile key;
  private final NameSpaceLock lock;
  private final TokenMap tokens;
  private final LogOnce once = new LogOnce();
  private volatile boolean closed;

  /** Called by the component runtime, for each bundle that asks. */
  @Activate
  public FileCacheEngine(ComponentContext context) {
    this(directory(context.getBundleContext()), nameSpace(context.getUsingBundle()));
  }

  /**
   * An engine over a directory, which need not be there yet.
   *
   * @param nameSpace whose: the symbolic name of a bundle
   */
  public FileCacheEngine(Path directory, String nameSpace) {
    if (!isNameSpace(nameSpace)) {
      throw new IllegalArgumentException("not the symbolic name of a bundle: " + nameSpace);
    }
    this.nameSpace = nameSpace;
    this.directory = directory.resolve(nameSpace);
    this.key = new KeyFile(directory.resolve("key"));
    this.lock = new NameSpaceLock(this.directory.resolve("lock"), PATIENCE);
    this.tokens = new TokenMap(this.directory.resolve("tokens"), key, nameSpace, CAPACITY);
  }

  /** No expression: a new process takes milliseconds for its first one. */
  private static boolean isNameSpace(String name) {
    boolean isOne = !name.isEmpty() && name.charAt(0) != '.' && name.charAt(0) != '-';
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      isOne &= c < 128 && Character.isLetterOrDigit(c) || "_.-".indexOf(c) >= 0;
    }
    return isOne;
  }

  /** Below the user's storage; a framework without one has its own for each bundle. */
  private static Path directory(BundleContext context) {
    String storage = context.getProperty("thalamus.storage");
    return storage == null
        ? context.getDataFile(FOLDER).toPath()
        : Path.of(storage).resolve(FOLDER);
  }

  private static String nameSpace(Bundle bundle) {
    return bundle.getSymbolicName() == null
        ? "bundle-" + bundle.getBundleId()
        : bundle.getSymbolicName();
  }

  @Override
  public byte[] code(List<MemorySegment> files) throws IOException {
    return code(COMPILATION, files);
  }

  private byte[] code(String purpose, List<MemorySegment> files) throws IOException {
    if (closed) {
      throw new IOException("the cache engine is closed");
    }
    AtomicFiles.createDirectoriesPrivately(directory);
    return key.macOfFilesOrCreate(nameSpace, purpose, files);
  }

  @Override
  public void remember(String device, CacheToken token, byte[] code) throws IOException {
    try (Hold _ = hold()) {
      tokens.add(TokenMap.compilationKey(device, token.toArray()), code);
    }
  }

  @Override
  public boolean isRemembered(String device, CacheToken token, List<MemorySegment> files) {
    if (closed) {
      return false;
    }
    try {
      // Without a key, a map is a damaged one.
      byte[] code = key.macOfFiles(nameSpace, COMPILATION, files).orElse(new byte[0]);
      boolean isRemembered =
          tokens.contains(TokenMap.compilationKey(device, token.toArray()), code);
      once.over();
      return isRemembered;
    } catch (TokenMap.DamagedException e) {
      beginAnew(e);
    } catch (IOException e) {
      log().log(once.level(e), "{0} cannot be read: {1}", tokens.file(), IoMessages.reason(e));
    }
    return false;
  }

  /** Removes a damaged map, so that it is reported once. */
  private void beginAnew(TokenMap.DamagedException damage) {
    try (Hold _ = hold()) {
      try {
        // Another process may have been faster.
        tokens.check();
      } catch (TokenMap.DamagedException e) {
        log()
            .log(
                Level.WARNING,
                "{0} is damaged, and every compilation that it knew is forgotten: {1}",
                tokens.file(),
                damage.getMessage());
        Files.deleteIfExists(tokens.file());
      }
    } catch (IOException e) {
      log()
          .log(
              once.level(e),
              "{0} is damaged, and cannot be removed: {1}",
              tokens.file(),
              IoMessages.reason(e));
    }
  }

  @Override
  public Hold hold(Deadline deadline) throws IOException {
    if (closed) {
      throw new IOException("the cache engine is closed");
    }
    return lock.take(deadline);
  }

  @Override
  public byte[] authenticate(String purpose, MemorySegment bytes) throws IOException {
    return code("bundle\0" + purpose, List.of(bytes));
  }

  @Override
  public BlobStore blobs(String version, BlobLimits limits) {
    return new FileBlobStore(this, directory.resolve("blobs"), key, nameSpace, version, limits);
  }

  /** Returns whether the bundle that it was made for has released it. */
  boolean isClosed() {
    return closed;
  }

  @Override
  @Deactivate
  public void close() {
    closed = true;
    try {
      lock.close();
    } catch (IOException e) {
      log().log(Level.WARNING, "the cache engine could not be closed: {0}", e.toString());
    }
  }

  /** Returns the log of the package, which costs time to find: only where something is said. */
  static System.Logger log() {
    return System.getLogger(FileCacheEngine.class.getPackageName());
  }
}
