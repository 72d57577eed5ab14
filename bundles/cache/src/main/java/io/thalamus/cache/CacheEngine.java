// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A memory of the caches that a driver can trust. Thread-safe. A service of scope BUNDLE: each
 * bundle has a name space of its own, shared with the same bundle in other processes, and what it
 * opened ends with it. {@link FileCacheEngine} can also be made with {@code new}.
 *
 * <p>A model cache is code that comes from a file which anybody may have changed. So a driver reads
 * it into memory of its own, and asks {@link #isRemembered} before it looks at a single byte. The
 * map behind it is authenticated with a key that only the user can read.
 *
 * <p>A storage that cannot be written costs caching and nothing else: an {@link IOException} is to
 * be logged, and the compilation to go on.
 */
@ProviderType
public interface CacheEngine {
  /**
   * Returns a code under the key of what the files of a compilation hold. Of many bytes it takes
   * longer than to write them, and needs no hold.
   *
   * @param files what each of them holds
   * @throws IOException if the key cannot be read, or made
   */
  byte[] code(List<MemorySegment> files) throws IOException;

  /**
   * Remembers what the files of a compilation hold, by their code. One compilation may be kept in
   * several places, each with files of its own, so that what they held before stays remembered. Of
   * very many codes, and of more than a few of one compilation, the one that was remembered first
   * is forgotten.
   *
   * @param device who compiled
   * @param token names the compilation
   * @param code from {@link #code}
   * @throws IOException where the storage cannot be written
   */
  void remember(String device, CacheToken token, byte[] code) throws IOException;

  /**
   * Returns whether files that hold this were remembered for this compilation; false if not, or if
   * that cannot be read.
   *
   * @param files bytes that nobody else can change
   */
  boolean isRemembered(String device, CacheToken token, List<MemorySegment> files);

  /**
   * Waits until nobody else holds the name space, in any process, and holds it. Writing the files
   * of a cache and remembering them belong into one hold, and so does reading them: then a reader
   * finds them half written only when a process was killed in the middle. The thread may hold it
   * several times.
   *
   * @param deadline of the caller: it waits no longer, nor longer than some seconds
   * @throws IOException when the storage cannot be written, or others do not release it in time
   */
  Hold hold(Deadline deadline) throws IOException;

  /** Does the same for a caller without a deadline. */
  default Hold hold() throws IOException {
    return hold(Deadline.NONE);
  }

  /**
   * Returns a code that vouches for bytes which the bundle keeps in a file of its own: it is the
   * same only for the same bytes, purpose and bundle, and nobody can compute it without the key of
   * the user.
   *
   * @param purpose names the format of the file
   * @return 32 bytes
   * @throws IOException if the key cannot be read, or made
   */
  byte[] authenticate(String purpose, MemorySegment bytes) throws IOException;

  /**
   * A store of small blobs, for what a driver keeps without the runtime.
   *
   * @param version of what the driver keeps there; blobs of another one are not seen
   * @param limits how much of it
   */
  BlobStore blobs(String version, BlobLimits limits);

  /** A hold of the name space, by the thread that took it. Ends with the process at the latest. */
  interface Hold extends AutoCloseable {
    @Override
    void close();
  }
}
