// SPDX-License-Identifier: Apache-2.0
/** Events of the runtime for the JDK's Flight Recorder. Stands below every other package. */
package io.thalamus.runtime.events;
