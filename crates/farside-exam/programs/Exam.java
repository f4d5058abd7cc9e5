import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Fills a heap with maps, strings and arrays from several threads, and lets most of it die. */
public final class Exam {
    private Exam() {}

    static long work(int seed, int count) {
        long state = 88172645463325252L + seed;
        Map<Integer, String> map = new HashMap<>();
        List<int[]> arrays = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < count; i++) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
            map.put((int) (state & 0xffff), "value " + state + " of " + i);
            if (i % 64 == 0) {
                int[] array = new int[1024];
                array[i % 1024] = i;
                arrays.add(array);
            }
            if (arrays.size() > 4000) {
                arrays.clear();
            }
        }
        for (Map.Entry<Integer, String> entry : map.entrySet()) {
            sum += entry.getKey() * 31L + entry.getValue().hashCode();
        }
        for (int[] array : arrays) {
            for (int value : array) {
                sum += value;
            }
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<Long>> results = new ArrayList<>();
        for (int t = 0; t < 3; t++) {
            int seed = t;
            results.add(pool.submit(() -> work(seed, count)));
        }
        for (Future<Long> result : results) {
            System.out.println(result.get());
        }
        pool.shutdown();
        System.gc();
        System.out.println(work(9, count / 4));
    }
}
