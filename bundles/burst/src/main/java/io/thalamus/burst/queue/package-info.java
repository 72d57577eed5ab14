// SPDX-License-Identifier: Apache-2.0
/**
 * Fast message queues: rings in shared memory, between two threads or two processes, with nothing
 * allocated, no lock and no copy in between. They know nothing of what the messages mean.
 *
 * <p>The memory of a {@link io.thalamus.burst.queue.MessageQueue}, in the byte order of the
 * machine:
 *
 * <pre>
 *      0  magic number | capacity | bytes of an element   (32 bits each, written once)
 *    128  elements written                                (64 bits, written by the writer)
 *    256  elements read                                   (64 bits, written by the reader)
 *    384  event flag | reader waits | writer waits        (32 bits each, seldom written)
 *    512  the elements: a power of two, not less than the capacity
 * </pre>
 *
 * Each row begins two cache lines after the one before, so that no side takes a line from the other
 * that it does not wait for: processors fetch lines in pairs. The element with number n is at n
 * modulo the number of elements. Both counters only grow; they are compared by their difference, so
 * that their overflow has no effect. Each side has its own counter in a field, and writes it to the
 * memory for the other one; what it reads there is held against its own one before it is used,
 * since foreign memory may contain anything.
 *
 * <p>A side that finds nothing polls for a while, then says so (<i>reader waits</i>), looks at the
 * counter again, and sleeps on the event flag. The other side writes its counter, then looks
 * whether somebody waits, and only then sets the event:
 *
 * <pre>
 *   reader                          writer
 *   reader waits := 1               elements written := n
 *   full fence                      full fence
 *   elements written = n?           reader waits = 1?
 * </pre>
 *
 * By the fences at least one of them sees what the other has written: the reader finds the
 * elements, or the writer sets the event. An event stays set until it is taken, whether it is set
 * before the reader sleeps or after. So no wake-up is lost, and a message to a reader that does not
 * sleep costs no system call.
 *
 * <p>In the memory of an {@link io.thalamus.burst.queue.UnsynchronizedQueue}, all counters are the
 * writer's, and readers leave no trace:
 *
 * <pre>
 *      0  magic number | capacity | bytes of an element
 *    128  elements written | elements begun
 *    512  the elements
 * </pre>
 *
 * The writer counts elements as begun before it overwrites the old ones, and as written afterwards.
 * A reader copies elements first and then looks how many were begun: where that is more than the
 * capacity beyond what it has copied, it throws the copy away.
 */
@Export
@Version("1.0.0")
package io.thalamus.burst.queue;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
